/** What a queue says it has taken, it can send: no store keeps a task that the strict reading of rows refuses afterwards. */

import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { RetryQueue, type TaskOptions } from '../../js/index.ts'
import { fakeClock } from '../../js/testing.ts'
import { bySize } from '../size.ts'
import { PLACES, type StoragePlace } from './rows/places.ts'
import { closeNow, NO_GATES, ORDERS, PLAIN_CURVE } from './setup.ts'

/** Mostly the usual, so that most calls have one oddity or none. */
const rarely = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
const often = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> => rarely<T | undefined>(undefined, ...values)

/** Words of fetch, of redrive, of other libraries, and none. */
const WORDS = ['defer', 'CORS', 'cors', 'x', '', 'include', 'omit', 'none', 'reload', 'error', 'origin', '\ud800', '\0']
const word = often(...WORDS)

const calls = fc.record({
  path: rarely('', '/a%20b', '/é', '?a=1', '?token=s3cr3t-0123456789abcdef', '#part', '/\ud800'),
  method: rarely('POST', 'post', 'PUT', 'DELETE', 'x-own', 'TRACE', 'a b'),
  headers: rarely<Record<string, string>>(
    {},
    { accept: 'a' },
    { prefer: 'é' },
    { 'x-own': 'a' },
    { cookie: 'a=b' },
    { accept: '' },
  ),
  body: often('', 'tea', '\ud800'),
  init: fc.record(
    {
      mode: word,
      credentials: word,
      cache: word,
      redirect: word,
      referrerPolicy: word,
      integrity: word,
      priority: word,
    },
    { requiredKeys: [] },
  ),
  redrive: fc.record({
    idempotencyKey: often('k-1', 'a b', 'é', '\ud800'),
    orderKey: often('o', '\ud800', '', 'x'.repeat(200_000)),
    priority: often(0, -1, 2 ** 31 - 1, 2 ** 31),
    expiresAt: often(0, 8.64e15, 8.64e15 + 1),
    idempotent: often(true, false),
    tags: often<readonly string[]>(['a'], ['\ud800'], []),
    meta: often<object>({ a: 1 }, { a: '\ud800' }, [], { at: new Date(0) }),
  }),
})

type Call = typeof calls extends fc.Arbitrary<infer T> ? T : never

/** Without what is undefined, which is not given. */
const given = <T extends object>(all: T): Partial<T> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Partial<T>

/** A queue on a store in a place, whose `fetch` looks at no option, as that of some platforms. */
async function setup(place: StoragePlace) {
  const clock = fakeClock()
  const server = { isDown: true }
  const fetch = async () => new Response(null, { status: server.isDown ? 503 : 200 })
  const store = place.open(clock)
  const queue = new RetryQueue({ clock, fetch, store, principal: null, warn: false, ...NO_GATES, policy: PLAIN_CURVE })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  return { clock, server, store, queue }
}

test.for(Object.keys(PLACES))(
  'S1 S20 %s: whatever enqueue and a deferred fetch take, the store reads back, and it is sent',
  { timeout: 60_000 },
  async (name) => {
    const { clock, server, store, queue } = await setup((PLACES[name] as () => StoragePlace)())
    let taken = 0
    const call = async ({ path, init, redrive, ...rest }: Call) => {
      const options = { ...given(rest), ...given(init) } as RequestInit
      const own = given(redrive) as TaskOptions
      server.isDown = true
      const answered = queue.fetch(ORDERS + path, { ...options, redrive: { ...own, mode: 'defer' } })
      const enqueued = queue.enqueue(ORDERS + path, { ...options, redrive: own })
      const told = await Promise.allSettled([
        answered.then((answer) => answer.headers.get('redrive-task-id')),
        enqueued.then(({ taskId }) => taskId),
      ])
      for (const each of told) {
        if (each.status === 'rejected' || each.value === null) continue
        taken++
        expect(await store.get(each.value), each.value).toBeDefined()
      }
      server.isDown = false
      // a database answers in its own time
      for (let i = 0; i < 100 && queue.stats().depth > 0; i++) await clock.advance(1_000)
      expect([queue.stats().unreadable ?? 0, queue.stats().depth]).toEqual([0, 0])
    }
    await fc.assert(fc.asyncProperty(calls, call), { numRuns: bySize(64, 150), seed: 18 })
    expect(taken).toBeGreaterThan(bySize(20, 50))
  },
)
