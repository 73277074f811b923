/**
 * `waitMs` and `signal` are promises: whatever a call waits for inside the queue, its caller hears of the end within 50 ms of it, and nothing
 * of the call is sent afterwards.
 */

import { getEventListeners } from 'node:events'
import axios, { AxiosError, type InternalAxiosRequestConfig } from 'axios'
import type { Dispatcher } from 'undici'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { retryInterceptor } from '../../js/adapters/undici.ts'
import type { TaskStore } from '../../js/api/store.ts'
import { instantiate } from '../../js/core/file.ts'
import type { RetryQueueOptions, TaskOptions } from '../../js/index.ts'
import { assemble } from '../../js/queue/assemble.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { type MemoryStore, memoryStore } from '../../js/stores/memory.ts'
import { type FakeClock, fakeClock, type ScriptedServer, scriptedServer } from '../../js/testing.ts'
import { SIZE } from '../size.ts'
import { chunks } from './chunks.ts'
import {
  API,
  always,
  closeNow,
  deferred,
  login,
  markOf,
  NO_GATES,
  ORDERS,
  PLAIN_CURVE,
  type Watched,
  watch,
} from './setup.ts'

/** How late a caller may hear of the end. */
const LATE_MS = 50
const LEFT = new Error('the user left')
const TIMEOUT = new DOMException('the operation timed out', 'TimeoutError')

/** A store that answers nothing from `shut` to `open`, and then all that it was asked, in order. */
class Blocked {
  readonly inner: MemoryStore
  readonly store: TaskStore
  #gate: ReturnType<typeof deferred<void>> | undefined
  /** Methods that wait; undefined: all. */
  #only: RegExp | undefined

  #failures = 0

  constructor(clock: FakeClock) {
    this.inner = memoryStore({ clock })
    this.store = this.#around(this.inner) as TaskStore
  }

  shut(only?: RegExp): void {
    this.#gate = deferred()
    this.#only = only
  }

  /** The next `times` methods fail. */
  fail(times: number): void {
    this.#failures = times
  }

  open(): void {
    this.#gate?.resolve()
    this.#gate = undefined
  }

  #around(inner: object): object {
    return new Proxy(inner, {
      get: (_, name) => {
        const value: unknown = Reflect.get(inner, name)
        if (typeof value === 'object' && value !== null) return this.#around(value)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          const ask = () => Reflect.apply(value, inner, args)
          if (this.#failures > 0 && /^(turn|cancel|enqueue)$/.test(String(name))) {
            this.#failures--
            return Promise.reject(new Error('the disk is away'))
          }
          const waits =
            /^(configure|subscribe|suspend)$/.test(String(name)) || !(this.#only?.test(String(name)) ?? true)
          return this.#gate && !waits ? this.#gate.promise.then(ask) : ask()
        }
      },
    })
  }
}

interface Bench {
  readonly queue: RetryQueue
  readonly server: ScriptedServer
  readonly clock: FakeClock
  readonly blocked: Blocked
  /** Has come what was late, and answers what was asked. */
  release(): void
}

type Mode = 'await' | 'defer' | 'enqueue'

interface Given {
  readonly redrive: Omit<TaskOptions, 'mode'> & { readonly mode: Mode }
  readonly signal: AbortSignal
  readonly body: string | Blob
}

interface Door {
  readonly modes: readonly Mode[]
  call(bench: Bench, given: Given): Promise<unknown>
  /** Whether it is what the door makes of the reason of an abort. */
  isReason(error: unknown, reason: unknown): boolean
  statusOf(value: unknown): number | undefined
}

const statusIn = (value: unknown) => (value as { readonly status?: number } | undefined)?.status

/** An adapter of axios in front of a scripted server. */
const adapterOf = (server: ScriptedServer) => async (config: InternalAxiosRequestConfig) => {
  const { method = 'get', url = '', signal } = config
  const headers = config.headers.toJSON() as Record<string, string>
  const body = config.data as string
  const { status, statusText } = await server.fetch(url, { method, headers, body, signal: signal as AbortSignal })
  const response = { data: '', status, statusText, headers: {}, config }
  if (config.validateStatus?.(status)) return response
  throw new AxiosError(`Request failed with status code ${status}`, 'ERR_BAD_RESPONSE', config, null, response)
}

/** A dispatch of undici in front of a scripted server. */
const dispatchOf =
  (server: ScriptedServer): Dispatcher['dispatch'] =>
  ({ origin, path, method, headers, body }, handler) => {
    const own = new AbortController()
    const controller = {
      get aborted() {
        return own.signal.aborted
      },
      get reason() {
        return own.signal.reason ?? null
      },
      paused: false,
      rawHeaders: null,
      rawTrailers: null,
      pause() {},
      resume() {},
      abort: (reason: Error) => own.abort(reason),
    }
    handler.onRequestStart?.(controller, null)
    const pairs: [string, string][] = []
    const flat = headers as string[]
    for (let i = 0; i < flat.length; i += 2) pairs.push([`${flat[i]}`, `${flat[i + 1]}`])
    server.fetch(`${origin}${path}`, { method, headers: pairs, body: body as BodyInit, signal: own.signal }).then(
      ({ status }) => {
        handler.onResponseStart?.(controller, status, {}, '')
        handler.onResponseEnd?.(controller, {})
      },
      (error) => handler.onResponseError?.(controller, error),
    )
    return true
  }

const DOORS: Readonly<Record<string, Door>> = {
  fetch: {
    modes: ['await', 'defer', 'enqueue'],
    call: ({ queue }, { redrive, signal, body }) => {
      const { mode, ...rest } = redrive
      const init = { method: 'POST', body, signal }
      if (mode === 'enqueue') return queue.enqueue(ORDERS, { ...init, redrive: rest })
      return queue.fetch(ORDERS, { ...init, redrive: { ...rest, mode } })
    },
    isReason: (error, reason) => error === reason,
    statusOf: statusIn,
  },
  Axios: {
    modes: ['await', 'defer'],
    call: ({ queue, server }, { redrive, signal, body }) => {
      const api = axios.create({ adapter: adapterOf(server) })
      attachToAxios(api, queue)
      return api.post(ORDERS, body, { signal, redrive: redrive as TaskOptions })
    },
    isReason: (error) => axios.isCancel(error),
    statusOf: (value) => statusIn(value) ?? statusIn((value as AxiosError).response),
  },
  undici: {
    modes: ['await'],
    call: ({ queue, server }, { redrive, signal, body }) =>
      new Promise((resolve, reject) => {
        const { waitMs } = redrive
        const options = { idempotent: true, ...(waitMs === undefined ? {} : { waitMs }) }
        const dispatch = retryInterceptor(queue, options)(dispatchOf(server))
        // of what has a length, undici is given the bytes once they have been read
        const isRead = body instanceof Unread
        const own = isRead
          ? { headers: { 'content-length': '3' }, body: { [Symbol.asyncIterator]: () => ({ next: never }) } }
          : { body }
        const given = { origin: API, path: '/orders', method: 'POST', ...own } as unknown as Dispatcher.DispatchOptions
        dispatch(given, {
          onRequestStart: (controller) =>
            signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true }),
          onResponseStart: (_, status) => resolve({ status }),
          onResponseError: (_, error) => reject(error),
        })
      }),
    isReason: (error, reason) => error === reason,
    statusOf: statusIn,
  },
}

/** How a caller's wait ends, and when. Without a reason: by `waitMs`. */
const ENDS = {
  'an abort at 1 s': { atMs: 1_000, reason: LEFT },
  'AbortSignal.timeout': { atMs: 1_000, reason: TIMEOUT },
  'waitMs 2 s': { atMs: 2_000, reason: undefined },
} as const

const never = () => new Promise<never>(() => {})

interface Cause {
  /** `late` is pending until the caller has long left. */
  readonly options?: RetryQueueOptions | ((late: Promise<void>) => RetryQueueOptions)
  /** A part that comes only when the caller has long left. */
  readonly late?: 'core' | 'keys' | 'store'
  /** The queue has no store. */
  readonly inMemory?: boolean
  readonly call?: TaskOptions
  readonly body?: () => Blob
  /** Before the call is made. */
  readonly before?: (bench: Bench) => unknown
  /** The doors and modes that it applies to. @default all */
  readonly in?: RegExp
}

/** A Blob whose bytes do not come. */
class Unread extends Blob {
  override arrayBuffer = never
  override stream = () => new ReadableStream<Uint8Array<ArrayBuffer>>({ pull: never })
}

const HOOKS: Readonly<Record<string, (late: Promise<void>) => RetryQueueOptions>> = {
  shouldRetry: (late) => ({ shouldRetry: () => late.then(() => true) }),
  delay: (late) => ({ delay: () => late.then(() => 1) }),
  credentials: (late) => ({ credentials: { [API]: () => late.then(() => ({})) } }),
  sign: (late) => ({ sign: () => late.then(() => ({})) }),
  beforeAttempt: (late) => ({ beforeAttempt: () => late.then(() => true) }),
}

const CAUSES: Readonly<Record<string, Cause>> = {
  'the store is blocked': { before: ({ blocked }) => blocked.shut() },
  'the store is blocked, and a call is stored before it is sent': {
    options: { persist: 'before-send' },
    before: ({ blocked }) => blocked.shut(),
  },
  'the store is blocked, and the server hangs': {
    before: ({ server, blocked }) => {
      server.hang()
      blocked.shut()
    },
  },
  'the store is blocked under a key of the call': {
    call: { idempotencyKey: 'order-1' },
    before: ({ blocked }) => blocked.shut(),
    in: /fetch/,
  },
  'the store is blocked once it has the task': {
    before: ({ blocked, clock }) => clock.after(500, () => blocked.shut()),
  },
  'the store is blocked while an attempt is settled': {
    options: { beforeAttempt: () => true },
    before: ({ blocked, clock }) => clock.after(1_000, () => blocked.shut(/^turn$/)),
  },
  'the store does not open': { late: 'store' },
  'the chunk of the core hangs': { late: 'core' },
  'the chunk of the core hangs, and the server, too': { late: 'core', before: ({ server }) => server.hang() },
  'the chunk of the core hangs, and calls are signed': { late: 'core', options: { sign: () => ({}) } },
  'the module of keys hangs': {
    late: 'keys',
    options: { idempotency: { mode: 'content', scope: 'tenant-1' } },
    in: /fetch|Axios/,
  },
  ...Object.fromEntries(
    Object.entries(HOOKS).flatMap(([hook, options]): [string, Cause][] => [
      [`${hook} is pending`, { options }],
      [`${hook} is pending, in memory`, { options, inMemory: true, in: /fetch/ }],
    ]),
  ),
  'the circuit is open, and its fallback is pending': {
    options: (late) => ({ breaker: { afterMs: 1, fallback: () => late.then(() => undefined) } }),
    before: openCircuit,
  },
  'the circuit is open, and calls are held': {
    options: { breaker: { afterMs: 1, whenOpen: 'hold' } },
    before: openCircuit,
  },
  'the lane is held': {
    options: { holdFirstAttempts: true },
    before: ({ queue, server, clock }) => {
      server.reply(429, { 'retry-after': '10' })
      return over(clock, queue.fetch(ORDERS, { redrive: { waitMs: 1 } }))
    },
  },
  'the rate is used up': {
    options: { limitFirstAttempts: true, rate: { perSecond: 0.1 } },
    before: ({ queue, server, clock }) => {
      server.reply(200)
      return over(clock, queue.fetch(ORDERS))
    },
  },
  'the queue is paused': { options: { limitFirstAttempts: true }, before: ({ queue }) => queue.pause() },
  'the body is still read': { body: () => new Unread(['A-1']) },
  'a principal logs in': {
    before: ({ queue, clock }) => {
      const { during, end } = login()
      // the same one, whose calls go on afterwards
      void queue.setPrincipal(null, { during })
      clock.after(10_000, end)
    },
  },
}

async function over(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  const ended = work.catch(() => {})
  await clock.advance(100)
  await ended
}

async function openCircuit({ queue, server, clock }: Bench): Promise<void> {
  for (let i = 0; i < 12; i++) {
    server.reply(503)
    await over(clock, queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } }))
  }
}

async function bench({ options, late, inMemory }: Cause): Promise<Bench> {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const blocked = new Blocked(clock)
  const coming = deferred()
  const own = typeof options === 'function' ? options(coming.promise) : options
  if (late === 'store') blocked.shut()
  const parts = late === 'keys' ? { ...chunks, keys: () => coming.promise.then(chunks.keys) } : chunks
  const source = async () => {
    if (late === 'core') await coming.promise
    return assemble(instantiate, parts)
  }
  const store = inMemory ? {} : { store: blocked.store, principal: null }
  const given = { clock, fetch: server.fetch, seed: 1n, warn: false as const, ...store, ...NO_GATES, ...own }
  const queue = new RetryQueue({ ...given, policy: PLAIN_CURVE }, source)
  const release = () => {
    coming.resolve()
    blocked.open()
  }
  onTestFinished(async () => {
    release()
    await closeNow(queue, clock)
  })
  if (!late) await queue.ready
  return { queue, server, clock, blocked, release }
}

/** All in larger runs. In a quick one other doors than fetch show that they are doors: behind them nothing differs. */
const isOfThisSize = (name: string, mode: Mode, how: string): boolean =>
  SIZE !== 'quick' || name === 'fetch' || (mode === 'await' && how !== 'AbortSignal.timeout')

const CELLS = Object.entries(CAUSES).flatMap(([why, cause]) =>
  Object.entries(DOORS).flatMap(([name, door]) =>
    door.modes
      .filter((mode) => cause.in?.test(`${name} ${mode}`) ?? true)
      .flatMap((mode) =>
        Object.entries(ENDS)
          .filter(([how]) => isOfThisSize(name, mode, how))
          .map(([how, end]) => ({ why, cell: `${name}, ${mode}, ${how}`, cause, door, mode, end })),
      ),
  ),
)

describe.each(Object.keys(CAUSES))('%s', (why) => {
  test.each(CELLS.filter((each) => each.why === why))('$cell', async ({ cause, door, mode, end }) => {
    const it = await bench(cause)
    const { server, clock, blocked, queue } = it
    await cause.before?.(it)
    always(server, 503)
    const { atMs, reason } = end
    const controller = new AbortController()
    const redrive = { mode, ...cause.call, ...(!reason && { waitMs: atMs }) }
    const told = watch(door.call(it, { redrive, signal: controller.signal, body: cause.body?.() ?? 'A-1' }))
    await clock.advance(atMs)
    const isEarly = told.state !== 'pending'
    if (reason) controller.abort(reason)
    await clock.advance(LATE_MS)
    expect(told.state, 'the caller was told').not.toBe('pending')
    const isAccepted = told.state === 'resolved' && (mode === 'enqueue' || door.statusOf(told.value) === 202)
    if (reason && !isEarly) expect(door.isReason(told.error, reason), `with its reason, not ${told.error}`).toBe(true)
    else if (!isAccepted)
      expect(said(door, told)).toMatch(/^(503|WAIT_EXCEEDED|EXHAUSTED|CIRCUIT_OPEN|TimeoutError|ECONNABORTED)$/)
    if (isAccepted) return
    const { hits } = server
    it.release()
    await clock.advance(20_000)
    expect(server.hits, 'nothing is sent afterwards').toBe(hits)
    expect(await live(blocked.inner), 'nor is it to be sent').toEqual([])
    expect(queue.stats().depth).toBe(0)
    expect(clock.timers, 'nor waited for').toBe(0)
  })
})

function said({ statusOf }: Door, { value, error }: Watched<unknown>): string {
  const { code, name } = (error ?? {}) as { readonly code?: string; readonly name?: string }
  return `${statusOf(value ?? error) ?? (typeof code === 'string' ? code : name)}`
}

async function live(store: TaskStore): Promise<unknown[]> {
  const { tasks } = await store.list({ active: true, limit: 10 })
  return tasks.map(({ status }) => status)
}

/** A call that is told at `atMs`: what it was told. */
async function toldAt({ clock }: Bench, atMs: number, call: Promise<unknown>): Promise<Watched<unknown>> {
  const told = watch(call)
  await clock.advance(atMs - 1)
  expect(told.state).toBe('pending')
  await clock.advance(1 + LATE_MS)
  expect(told.state).not.toBe('pending')
  return told
}

const POST = { method: 'POST', body: 'A-1' } as const

describe('at the end of waitMs the caller has', () => {
  test.each([
    ['the core is late', 'core', 0],
    ['the store is blocked', undefined, 1],
  ] as const)('its first answer, body and all, with the reason on it: %s', async (_, late, asked) => {
    const shouldRetry = vi.fn(() => true)
    const it = await bench({ ...(late && { late }), options: { shouldRetry } })
    it.blocked.shut()
    it.server.reply(503, {}, 'the words of the server')
    const told = await toldAt(it, 2_000, it.queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 2_000 } }))
    expect(markOf(told.value)).toEqual({ reason: 'wait_exceeded' })
    it.release()
    await it.clock.advance(10_000)
    expect(await (told.value as Response).text()).toBe('the words of the server')
    expect(shouldRetry, 'not once its caller has left').toHaveBeenCalledTimes(asked)
  })

  test('its first error, where there was no answer', async () => {
    const it = await bench({ late: 'core' })
    const lost = new TypeError('connection lost')
    it.server.fail(lost)
    const told = await toldAt(it, 2_000, it.queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 2_000 } }))
    expect(told.error).toBe(lost)
  })

  test('an error that says so, where nothing was sent', async () => {
    const it = await bench({ options: { persist: 'before-send' } })
    it.blocked.shut()
    const told = await toldAt(it, 2_000, it.queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 2_000 } }))
    expect(told.error).toMatchObject({ code: 'WAIT_EXCEEDED', message: expect.stringContaining(`POST ${API}`) })
    expect(it.server.hits).toBe(0)
  })

  test('its last answer, not the first, where the store has the task', async () => {
    const it = await bench({})
    it.server.reply(503, {}, 'first').reply(502, {}, 'last')
    it.clock.after(1_500, () => it.blocked.shut())
    const told = await toldAt(it, 3_500, it.queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 3_500 } }))
    expect(markOf(told.value)).toMatchObject({ reason: 'wait_exceeded', taskId: expect.any(String) })
    expect(await (told.value as Response).text()).toBe('last')
  })

  test('a success that the store has not taken yet, without a mark', async () => {
    const it = await bench({})
    it.server.reply(503)
    const release = it.server.hang()
    it.clock.after(1_500, () => {
      it.blocked.shut()
      release(200)
    })
    const told = await toldAt(it, 2_000, it.queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 2_000 } }))
    expect([statusIn(told.value), markOf(told.value)]).toEqual([200, undefined])
    it.release()
    await it.clock.advance(10_000)
    expect(it.queue.stats()).toMatchObject({ succeeded: 1, depth: 0 })
  })
})

test('an abort lets go of the connection of an answer that no one reads', async () => {
  const it = await bench({ late: 'core' })
  let isCancelled = false
  const body = new ReadableStream({
    pull: never,
    cancel() {
      isCancelled = true
    },
  })
  it.server.reply(503, {}, body as never)
  const controller = new AbortController()
  const told = watch(it.queue.fetch(ORDERS, { ...POST, signal: controller.signal }))
  await it.clock.advance(100)
  controller.abort(LEFT)
  await it.clock.settle()
  expect([told.error, isCancelled]).toEqual([LEFT, true])
})

test('detach: an abort ends the wait alone, whatever the call waits for', async () => {
  const it = await bench({})
  it.server.reply(503)
  it.blocked.shut()
  const controller = new AbortController()
  const told = watch(it.queue.fetch(ORDERS, { ...POST, signal: controller.signal, redrive: { detach: true } }))
  await it.clock.advance(500)
  controller.abort(LEFT)
  await it.clock.settle()
  expect(told.error).toBe(LEFT)
  it.release()
  await it.clock.advance(20_000)
  expect([it.server.hits, it.queue.stats().succeeded]).toEqual([2, 1])
})

test('S1 enqueued again under the same key while the store still has the aborted one to take, it is sent once', async () => {
  const it = await bench({})
  it.blocked.shut()
  const controller = new AbortController()
  const init = { ...POST, redrive: { idempotencyKey: 'order-1' } }
  const first = watch(it.queue.enqueue(ORDERS, { ...init, signal: controller.signal }))
  await it.clock.advance(500)
  controller.abort(LEFT)
  const second = watch(it.queue.enqueue(ORDERS, init))
  await it.clock.advance(500)
  expect([first.error, second.state]).toEqual([LEFT, 'pending'])
  it.release()
  await it.clock.advance(20_000)
  expect(second.state).toBe('resolved')
  expect([it.server.hits, it.server.requests[0]?.headers.get('idempotency-key')]).toEqual([
    1,
    expect.stringContaining('order-1'),
  ])
})

test('after the receipt neither signal nor waitMs has a say', async () => {
  const it = await bench({})
  const controller = new AbortController()
  const { taskId } = await it.queue.enqueue(ORDERS, { ...POST, signal: controller.signal, redrive: { waitMs: 10 } })
  controller.abort(LEFT)
  await it.clock.advance(1_000)
  expect(await it.queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('a deferred call with a short waitMs has 2 s to be kept', async () => {
  const it = await bench({})
  it.server.hang()
  it.blocked.shut()
  it.clock.after(1_900, () => it.blocked.open())
  const told = watch(it.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer', waitMs: 0 } }))
  await it.clock.advance(1_950)
  expect(statusIn(told.value)).toBe(202)
})

test('without a waitMs a deferred call is kept however long that takes', async () => {
  const it = await bench({ late: 'core' })
  it.server.reply(503)
  const told = watch(it.queue.fetch(ORDERS, { ...POST, redrive: { mode: 'defer' } }))
  await it.clock.advance(5_000)
  expect(told.state).toBe('pending')
  it.release()
  await it.clock.advance(100)
  expect(statusIn(told.value)).toBe(202)
})

test('no listener stays on a signal that outlives calls that were left', async () => {
  const it = await bench({ late: 'store' })
  const { signal } = new AbortController()
  const calls = ['await', 'defer'].map((mode) =>
    watch(it.queue.fetch(ORDERS, { ...POST, signal, redrive: { mode: mode as 'await', waitMs: 100 } })),
  )
  await it.clock.advance(3_000)
  expect(calls.every(({ state }) => state !== 'pending')).toBe(true)
  expect(getEventListeners(signal, 'abort').length).toBe(0)
})

test('a store that fails, too, ends in it later what an abort has ended', async () => {
  const it = await bench({})
  it.server.reply(503)
  const controller = new AbortController()
  const told = watch(it.queue.fetch(ORDERS, { ...POST, signal: controller.signal }))
  await it.clock.advance(500)
  it.blocked.fail(3)
  controller.abort(LEFT)
  await it.clock.advance(20_000)
  expect(told.error).toBe(LEFT)
  expect(it.server.hits).toBe(1)
  expect(await live(it.blocked.inner)).toEqual([])
})

test('a store that fails does not have an attempt sent that waits for credentials', async () => {
  const credentials = deferred()
  const give = vi.fn(() => credentials.promise.then(() => ({})))
  const it = await bench({ options: { credentials: { [API]: give } } })
  it.server.reply(503)
  const controller = new AbortController()
  const told = watch(it.queue.fetch(ORDERS, { ...POST, signal: controller.signal }))
  await it.clock.advance(1_100)
  expect(give).toHaveBeenCalled()
  it.blocked.fail(3)
  controller.abort(LEFT)
  await it.clock.settle()
  credentials.resolve()
  await it.clock.advance(20_000)
  expect([told.error, it.server.hits]).toEqual([LEFT, 1])
  expect(await live(it.blocked.inner)).toEqual([])
})
