/**
 * A queue over a store in which other code has written. A hundred tasks are as they were stored; of the others each has a field
 * changed to a value that no honest writer leaves there. Whatever it is, the hundred are delivered, and nothing else happens.
 */

import { laneName, type NewTask, RECORD_SCHEMA, type TaskStore } from '../../../js/api/store.ts'
import { RetryQueue } from '../../../js/index.ts'
import { resolvePolicy } from '../../../js/options/policy-rules.ts'
import { type FakeClock, fakeClock } from '../../../js/testing.ts'
import { bySize } from '../../size.ts'
import { closeNow, Events, NO_GATES } from '../setup.ts'
import { claimOf, idOf, logOf, NOT_RETRYABLE, newTask, SUCCEEDED, settlementOf } from '../store-contract/kit.ts'
import { type Chance, chanceOf } from './chance.ts'

export const GOOD = 100
/** Rows of one story that are changed. */
export const HOSTILE = 20
const ORIGINS = ['https://api.test', 'https://other.test'] as const
/** Tasks that are enqueued once all this has been seen. */
const LATER = [GOOD + HOSTILE, GOOD + HOSTILE + 1, GOOD + HOSTILE + 2]
const SECRET = 'Bearer of api.test'

/** A place where tasks are kept, and how other code writes there. */
export interface Place {
  open(clock: FakeClock): TaskStore
  /** Changes one row of `taskId`, or what hangs on it; says what it did. Called while no store is open. */
  spoil(taskId: string, chance: Chance): string | Promise<string>
  /** Changes what is no task: counters, lanes, homes. */
  spoilRest?(chance: Chance): string | Promise<string>
  /** Makes an editor's writing possible, once. */
  unlock?(): void | Promise<void>
}

function taskOf(n: number, chance: Chance): NewTask {
  const origin = ORIGINS[n % 5 === 0 ? 1 : 0]
  const isGood = n < GOOD
  return newTask(n + 1, {
    idempotencyKey: `key-${n}`,
    fingerprint: `print-${n}`,
    targetUrl: `${origin}/orders?n=${n}`,
    withheldHeaders: n % 3 === 0 ? ['authorization'] : [],
    requestInit: { credentials: 'same-origin' },
    ...(n % 2 === 0 && { body: new TextEncoder().encode(`order ${n}`) }),
    lane: laneName(null, origin),
    policy: resolvePolicy({}),
    priority: chance.below(3) - 1,
    ...(isGood && n % 7 === 0 && { orderKey: `order-${n % 3}` }),
    ...(!isGood && n % 6 === 0 && { orderKey: 'hostile' }),
    ...(n % 4 === 0 && { meta: { order: n }, tags: ['order'] }),
    schema: RECORD_SCHEMA,
    log: [logOf(idOf(n + 1))],
  })
}

/** The tasks of a story, in `place`: some were in flight when their process died, some are dead letters. */
async function fill(place: Place, clock: FakeClock, chance: Chance): Promise<void> {
  const store = place.open(clock)
  const tasks = Array.from({ length: GOOD + HOSTILE }, (_, n) => taskOf(n, chance))
  await store.enqueue(tasks.slice(GOOD))
  const step = { owner: 'dead', settle: [], renew: [], claim: null }
  const { claimed } = await store.turn({ ...step, claim: claimOf({ limit: 8, total: 99, perLane: 99 }) })
  const settle = claimed
    .slice(0, 4)
    .map(({ lease }, i) =>
      settlementOf(lease, i % 2 === 0 ? SUCCEEDED : NOT_RETRYABLE, { log: { responseStatus: 400 } }),
    )
  await store.turn({ ...step, settle })
  await store.enqueue(tasks.slice(0, GOOD))
  await store.close()
}

/** One story; the faults that it has shown, in words. */
export async function tell(place: Place, seed: number): Promise<string[]> {
  const chance = chanceOf(seed)
  const clock = fakeClock()
  const faults: string[] = []
  await fill(place, clock, chance)
  // as often as not the tables still refuse what is not of a column's type
  if (chance.below(2) === 0) await place.unlock?.()
  const done: string[] = []
  for (let n = 0; n < HOSTILE; n++) done.push(await place.spoil(idOf(GOOD + n + 1), chance))
  if (place.spoilRest && chance.below(2) === 0) done.push(await place.spoilRest(chance))
  const delivered = new Map<string, number>()
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const { origin, searchParams, href } = new URL(String(input))
    const headers = new Headers(init?.headers)
    if (!(ORIGINS as readonly string[]).includes(origin)) faults.push(`a request went to ${href}`)
    if (headers.get('authorization') === SECRET && origin !== ORIGINS[0]) faults.push(`a credential went to ${href}`)
    if (init?.redirect === 'follow') faults.push(`${href} may be redirected`)
    const name = searchParams.get('n') ?? href
    delivered.set(name, (delivered.get(name) ?? 0) + 1)
    const sent =
      typeof init?.body === 'string'
        ? init.body
        : new TextDecoder().decode((init?.body ?? undefined) as Uint8Array<ArrayBuffer> | undefined)
    if (searchParams.has('n') && sent !== '' && sent !== `order ${name}`)
      faults.push(`task ${name} was sent with another body`)
    return new Response(null, { status: 200 })
  }
  const heard = (error: unknown) => faults.push(`unhandled: ${String(error)}`)
  process.on('unhandledRejection', heard)
  process.on('uncaughtException', heard)
  const events = new Events()
  const queue = new RetryQueue({
    clock,
    fetch,
    seed: 1n,
    ...NO_GATES,
    principal: null,
    store: place.open(clock),
    credentials: CREDENTIALS,
  })
  events.listen(queue)
  const missing = () => Array.from({ length: GOOD }, (_, n) => n).filter((n) => !delivered.has(String(n)))
  try {
    await queue.ready
    for (let i = 0; i < 100 && missing().length > 0; i++) await pass(clock, 2_000)
    const later = await Promise.all(LATER.map((n) => queue.enqueue(`${ORIGINS[0]}/orders?n=${n}`, { method: 'POST' })))
    if (later.some(({ deduplicated }) => deduplicated)) faults.push('a new task was taken for another')
    for (let i = 0; i < 100 && LATER.some((n) => !delivered.has(String(n))); i++) await pass(clock, 2_000)
    // the leases of the dead process end, and of what was put aside nothing is heard any more
    await pass(clock, 100_000)
    for (const n of LATER)
      if (delivered.get(String(n)) !== 1) faults.push(`task ${n}, which came later, was not delivered once`)
    if (missing().length > 0) faults.push(`${missing().length} of ${GOOD} were not delivered: ${missing().slice(0, 5)}`)
    for (let n = 0; n < GOOD; n++) if ((delivered.get(String(n)) ?? 0) > 1) faults.push(`task ${n} was sent twice`)
    faults.push(...(await ask(queue)))
    if (Number.isNaN(queue.stats().depth)) faults.push('the depth is NaN')
  } catch (error) {
    faults.push(`thrown: ${String(error)}`)
  }
  for (const { code, message } of events.of('degraded')) {
    if (code === 'storage_unavailable') faults.push(`degraded: ${message}`)
  }
  await closeNow(queue, clock)
  await new Promise((resolve) => setTimeout(resolve, 0))
  process.off('unhandledRejection', heard)
  process.off('uncaughtException', heard)
  return faults.length > 0 ? [`seed ${seed}`, ...new Set(faults), ...done.map((what) => `  ${what}`)] : []
}

/** A database of its own pace answers in real time. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms)
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve))
}

const CREDENTIALS = {
  [ORIGINS[0]]: () => ({ authorization: SECRET }),
  [ORIGINS[1]]: () => ({ authorization: 'Bearer of other.test' }),
}

/** Every question about every task has an answer. */
async function ask(queue: RetryQueue): Promise<string[]> {
  const faults: string[] = []
  const answered = async (what: string, question: () => Promise<unknown>) => {
    try {
      await question()
    } catch (error) {
      faults.push(`${what} rejects: ${String(error)}`)
    }
  }
  for (let n = GOOD; n < GOOD + HOSTILE; n++) {
    const taskId = idOf(n + 1)
    await answered('get', () => queue.get(taskId))
    await answered('attempts', () => queue.attempts(taskId))
    await answered('explain', () => queue.explain(taskId))
  }
  await answered('list', async () => {
    for (let cursor: string | undefined, pages = 0; pages < 9; pages++) {
      const page: { readonly cursor?: string } = await queue.list({ limit: 50, ...(cursor ? { cursor } : {}) })
      if (!page.cursor) return
      cursor = page.cursor
    }
    throw new Error('it has no end')
  })
  await answered('deadLetters.list', () => queue.deadLetters.list())
  await answered('export', () => queue.deadLetters.export())
  await answered('redriveAll', () => queue.deadLetters.redriveAll({ acceptDuplicateRisk: true }))
  await answered('flush', () => queue.flush())
  return faults
}

/** Stories until `rows` rows have been changed. Rejects with what was seen, if anything was. */
export async function tellAll(makePlace: () => Place, rows: number, first: number): Promise<void> {
  const faults: string[] = []
  for (let seed = first; seed < first + Math.ceil(rows / HOSTILE); seed++) {
    const seen = await tell(makePlace(), seed)
    if (seen.length > 0) faults.push(seen.join('\n'))
    if (faults.length >= 3) break
  }
  if (faults.length > 0) throw new Error(`REDRIVE_FUZZ_SEED replays the first of a run\n${faults.join('\n\n')}`)
}

/** How many rows are changed: more by hand. */
export const ROWS = Number(process.env.REDRIVE_FUZZ_ROWS ?? bySize(100, 500))
/** The first seed. */
export const SEED = Number(process.env.REDRIVE_FUZZ_SEED ?? 1)
