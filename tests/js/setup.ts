/** One queue on virtual time, a server that does as it is told, and a record of what the queue said. */

import { onTestFinished, vi } from 'vitest'
import {
  type Credentials,
  type GiveCredentials,
  type QueueEvents,
  RetryQueue,
  type RetryQueueOptions,
} from '../../js/index.ts'
import type { BodyLike } from '../../js/platform/web.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import { EVENT_NAMES, type EventName } from './event-names.ts'

export const API = 'https://api.test'
export const ORDERS = `${API}/orders`

/** Waits without chance: 1 s, 2 s, 4 s, 8 s; of what is handed over, too, and so many attempts, since the policy has a name. */
export const PLAIN_CURVE = { policyId: 'default', jitterType: 'NONE', initialDelayMs: 1_000, maxAttempts: 5 } as const

/** The option `credentials` with one entry, that of the origin of `ORDERS`. */
export const forApi = (give: GiveCredentials): Credentials => ({ [API]: give })

/** What is tested is not the gates: they have tests of their own. */
export const NO_GATES = { breaker: false, retryBudget: false } as const

export class Events {
  readonly #log: { readonly name: string; readonly payload: unknown }[] = []

  listen(queue: RetryQueue): void {
    for (const name of EVENT_NAMES) queue.on(name, (payload) => this.#log.push({ name, payload }))
  }

  /** Puts something of the test's own into the order of events. */
  note(name: string): void {
    this.#log.push({ name, payload: undefined })
  }

  /** In order; 'idle' only where it is asked for. */
  names(withIdle = false): string[] {
    return this.#log.map(({ name }) => name).filter((name) => withIdle || name !== 'idle')
  }

  of<E extends EventName>(name: E): QueueEvents[E][] {
    return this.#log.filter((each) => each.name === name).map(({ payload }) => payload as QueueEvents[E])
  }
}

export interface Fakes {
  readonly queue: RetryQueue
  readonly server: ScriptedServer
  readonly clock: FakeClock
  readonly events: Events
  readonly hitsAfter: HitsAfter
}

/** How many requests its server has had once some time has passed; without a time, once nothing happens any more. */
export type HitsAfter = (ms?: number) => Promise<number>

export const hitsOf =
  (clock: FakeClock, server: ScriptedServer): HitsAfter =>
  async (ms) => {
    await (ms === undefined ? clock.settle() : clock.advance(ms))
    return server.hits
  }

/** What a server says to the next request: a status, with headers and a body where there are some, no answer yet, or an error. */
export type Said =
  | number
  | readonly [status: number, headers: Record<string, string>, body?: BodyLike]
  | 'hangs'
  | 'lost'
  | Error

/** Puts `answers` into the script of `server`. */
export function script(server: ScriptedServer, answers: readonly Said[]): void {
  for (const said of answers) {
    if (said === 'hangs') server.hang()
    else if (said === 'lost') server.fail()
    else if (typeof said === 'number') server.reply(said)
    else if (said instanceof Error) server.fail(said)
    else server.reply(...said)
  }
}

/** The queue's core is here and its waits are plain unless `options` say otherwise; it is closed when the test ends. */
export async function setup(options: RetryQueueOptions = {}, ...answers: readonly Said[]): Promise<Fakes> {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  script(server, answers)
  const policy = { ...PLAIN_CURVE, ...options.policy }
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, ...NO_GATES, ...options, policy })
  const events = heard(queue, clock)
  await queue.ready
  return { queue, server, clock, events, hitsAfter: hitsOf(clock, server) }
}

/** A queue as an application has it: its core is not asked for, its gates and waits are the defaults. */
export function bare(options: RetryQueueOptions = {}, ...answers: readonly Said[]): Fakes {
  const clock = (options.clock as FakeClock | undefined) ?? fakeClock()
  const server = scriptedServer({ clock })
  script(server, answers)
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, ...options })
  return { queue, server, clock, events: heard(queue, clock), hitsAfter: hitsOf(clock, server) }
}

interface Call {
  readonly options?: RetryQueueOptions
  readonly url?: string
  readonly init?: object
  /** For how long it is looked at. */
  readonly forMs?: number
}

/** A call by fetch that meets `answers`, one after another, and what became of it. */
export async function called(answers: readonly Said[] = [], { options, url = ORDERS, init, forMs }: Call = {}) {
  const fakes = await setup(options, ...answers)
  const answer = watch(fakes.queue.fetch(url, init))
  await (forMs === undefined ? fakes.clock.settle() : fakes.clock.advance(forMs))
  return { ...fakes, answer }
}

/** The same by enqueue. */
export async function submitted(answers: readonly Said[] = [], { options, url = ORDERS, init, forMs }: Call = {}) {
  const fakes = await setup(options, ...answers)
  const { taskId } = await fakes.queue.enqueue(url, init)
  await (forMs === undefined ? fakes.clock.settle() : fakes.clock.advance(forMs))
  return { ...fakes, taskId }
}

/** The events of a queue from here on; it is closed when the test ends. */
export function heard(queue: RetryQueue, clock: FakeClock): Events {
  const events = new Events()
  events.listen(queue)
  onTestFinished(() => closeNow(queue, clock))
  return events
}

/** `close` on a clock that only moves when told. */
export async function closeNow(queue: RetryQueue, clock: FakeClock): Promise<void> {
  const closed = queue.close({ drainMs: 0 })
  await clock.advance(1)
  await closed
}

/** Globals of this test alone. */
export function stub(globals: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  onTestFinished(() => void vi.unstubAllGlobals())
}

/** A host without a SHA-256 of its own, as a page that did not come by https. */
export function withoutDigest(): void {
  const { getRandomValues } = crypto
  stub({ crypto: { getRandomValues: getRandomValues.bind(crypto) } })
  const asked = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  onTestFinished(() => asked.mockRestore())
}

/** What became of a promise so far, without waiting for it. */
export interface Watched<T> {
  readonly state: 'pending' | 'resolved' | 'rejected'
  readonly value: T | undefined
  readonly error: unknown
}

export function watch<T>(promise: Promise<T>): Watched<T> {
  const seen: { state: Watched<T>['state']; value: T | undefined; error: unknown } = {
    state: 'pending',
    value: undefined,
    error: undefined,
  }
  promise.then(
    (value) => Object.assign(seen, { state: 'resolved', value }),
    (error) => Object.assign(seen, { state: 'rejected', error }),
  )
  return seen
}

/** The mark on the result of a call that was given up. */
export { redriveOf as markOf } from '../../js/index.ts'

/** How long after the one before each request came, in ms. */
export function gaps(server: ScriptedServer): number[] {
  return server.requests.slice(1).map(({ at }, i) => at - (server.requests[i]?.at ?? 0))
}

/** Answers every request with `status` until told otherwise. */
export function always(server: ScriptedServer, status: number, times = 50, headers: Record<string, string> = {}): void {
  for (let i = 0; i < times; i++) server.reply(status, headers)
}

/** A promise that the test settles. */
export function deferred<T = void>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<T>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise, resolve, reject }
}

/** A login, for `during`, that ends when the test says so. */
export function login() {
  const { promise, resolve, reject } = deferred()
  let begun = 0
  const during = () => {
    begun++
    return promise
  }
  return { during, begun: () => begun, end: (error?: Error) => (error ? reject(error) : resolve()) }
}

/** A hook that throws. */
export const throwing =
  (error: unknown): (() => never) =>
  () => {
    throw error
  }

/** The values of a header that each request came with; null: without. */
export const sentBy = ({ requests }: Pick<ScriptedServer, 'requests'>, name: string): (string | null)[] =>
  requests.map(({ headers }) => headers.get(name))
export const keysOf = (server: ScriptedServer) => sentBy(server, 'idempotency-key')
export const authOf = (server: Pick<ScriptedServer, 'requests'>) => sentBy(server, 'authorization')
export const bodiesOf = ({ requests }: ScriptedServer) => requests.map(({ body }) => body)
export const urlsOf = ({ requests }: ScriptedServer) => requests.map(({ url }) => url)
