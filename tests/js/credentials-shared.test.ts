/** One question for credentials at a time, and who else its answer is for. */

import { afterEach, expect, test, vi } from 'vitest'
import type { CredentialsRequest } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { FakeBrowser, FakeTab } from './indexeddb/fake-locks.ts'
import { always, authOf, forApi, ORDERS, setup, submitted, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea', headers: { authorization: 'stale' } } as const
const ON_401 = { ...POST, redrive: { credentials: 'on-401' } } as const

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A session that gives a new token after each 401. `isHeld`: it answers when told. */
function session(isHeld = false) {
  const asked: CredentialsRequest[] = []
  const held: (() => void)[] = []
  let token = 0
  const give = async (request: CredentialsRequest) => {
    asked.push(request)
    if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
    if (request.unauthorized) token++
    return { authorization: `fresh ${token}` }
  }
  return {
    credentials: forApi(give),
    asked,
    /** The words `unauthorized` of all questions. */
    questions: () => asked.map(({ unauthorized }) => unauthorized),
    answer: () => held.shift()?.(),
    waiting: () => held.length,
  }
}

const eight = <T>(make: (nth: number) => T): T[] => Array.from({ length: 8 }, (_, nth) => make(nth))

test.each<[what: string, isHeld: boolean, urlOf: (nth: number) => string]>([
  ['while it is answered', true, () => ORDERS],
  ['answered at once', false, () => ORDERS],
  ['at eight URLs', true, (nth) => `${ORDERS}/${nth}`],
])('eight calls at once that meet 401 ask once: %s', async (_what, isHeld, urlOf) => {
  const { credentials, questions, answer } = session(isHeld)
  const { queue, server, clock } = await setup({ credentials }, ...Array(8).fill(401))
  const answers = eight((nth) => queue.fetch(urlOf(nth), ON_401))
  await clock.settle()
  answer()
  await clock.settle()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(eight(() => 200))
  expect(questions()).toEqual([true])
  expect(authOf(server).slice(8)).toEqual(eight(() => 'fresh 1'))
})

test.each([['in memory'], ['stored']])('eight enqueued tasks that meet 401 have one new token: %s', async (where) => {
  const { credentials, questions } = session()
  const open = where === 'stored' ? opened : setup
  const { queue, events, server, clock } = await open({ credentials, concurrency: 8 }, ...Array(8).fill(401))
  await Promise.all(eight(() => queue.enqueue(ORDERS, POST)))
  await clock.advance(1_000)
  expect(events.of('succeeded')).toHaveLength(8)
  expect(questions().filter((isRefused) => isRefused)).toHaveLength(1)
  expect(authOf(server).slice(8)).toEqual(eight(() => 'fresh 1'))
})

test('eight enqueued tasks that start at once ask once', async () => {
  const { credentials, questions, answer } = session(true)
  const { queue, server, clock } = await setup({ credentials, concurrency: 8 })
  for (const nth of eight((each) => each)) await queue.enqueue(`${ORDERS}/${nth}`, POST)
  await clock.settle()
  answer()
  await clock.settle()
  expect([questions(), server.hits]).toEqual([[false], 8])
})

test('awaited calls and tasks together: the question after a 401 waits for the one before, and answers for all', async () => {
  const { credentials, questions, answer, waiting } = session(true)
  const { queue, server, clock } = await submitted([], { options: { credentials, concurrency: 8 }, init: POST })
  always(server, 401, 4)
  const calls = [1, 2, 3, 4].map(() => queue.fetch(ORDERS, ON_401))
  await clock.settle()
  await queue.enqueue(ORDERS, POST)
  expect([questions(), waiting()]).toEqual([[false], 1])
  answer()
  await clock.settle()
  expect([questions(), waiting()]).toEqual([[false, true], 1])
  await queue.enqueue(ORDERS, POST)
  await clock.settle()
  answer()
  await clock.settle()
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(questions()).toEqual([false, true])
})

test.each<[what: string, lateMs: number, expected: readonly boolean[]]>([
  ['has that answer', 4_000, [true]],
  ['asks anew once the answer is too old to be kept', 11_000, [true, true]],
])('a late 401 to a request that had begun before the answer %s', async (_what, lateMs, expected) => {
  const { credentials, questions } = session()
  const { queue, server, clock } = await setup({ credentials, policy: { attemptTimeoutMs: 0 } })
  const refuse = server.hang()
  server.reply(401)
  const late = queue.fetch(ORDERS, ON_401)
  const early = queue.fetch(ORDERS, ON_401)
  await clock.advance(lateMs)
  refuse(401)
  await clock.settle()
  expect([(await early).status, (await late).status]).toEqual([200, 200])
  expect(questions()).toEqual(expected)
})

test.each([
  ['a call', true],
  ['a task', false],
])('a 401 to %s that began after the answer is news, in the same millisecond, too', async (_what, isAwaited) => {
  const { credentials, asked } = session()
  const { queue, server, clock, events } = await setup({ credentials })
  const send = async () => {
    server.reply(401)
    await (isAwaited ? queue.fetch(ORDERS, ON_401) : queue.enqueue(ORDERS, POST))
    await clock.settle()
  }
  await send()
  await send()
  expect(asked.filter(({ unauthorized }) => unauthorized)).toHaveLength(2)
  if (!isAwaited) expect(events.of('succeeded')).toHaveLength(2)
})

test('no answer is that of another principal, or of calls that carry other headers', async () => {
  const { credentials, asked } = session()
  const { queue, server } = await setup({ credentials, principal: 'ann', durable: false }, 401, 401)
  const other = { ...ON_401, headers: { cookie: 'stale' } }
  const answers = [queue.fetch(ORDERS, ON_401), queue.fetch(ORDERS, other)]
  await Promise.all(answers)
  await queue.setPrincipal('bob')
  server.reply(401)
  await queue.fetch(ORDERS, ON_401)
  expect(asked.map(({ principal, withheldHeaders }) => [principal, withheldHeaders])).toEqual([
    ['ann', ['authorization']],
    ['ann', ['cookie']],
    ['bob', ['authorization']],
  ])
})

test('a question that throws fails all who wait for it, once, and the next asks anew', async () => {
  let works = false
  let asked = 0
  const { queue, server, clock, events } = await setup({
    credentials: forApi(async () => {
      asked++
      if (!works) throw new Error('no session')
      return {}
    }),
  })
  always(server, 401, 4)
  const answers = await Promise.all([1, 2, 3].map(() => queue.fetch(ORDERS, ON_401)))
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
  expect(events.of('degraded')).toMatchObject([{ code: 'credentials_failed' }])
  expect(asked).toBe(1)
  works = true
  await clock.settle()
  expect((await queue.fetch(ORDERS, ON_401)).status).toBe(200)
})

test.each([
  ['the one who asked', [0], false],
  ['one who joined', [1], false],
  ['all of them', [0, 1], true],
])('an abort of %s', async (_what, left, isOver) => {
  const { credentials, asked, answer } = session(true)
  const { queue, clock } = await setup({ credentials }, 401, 401)
  const controllers = [new AbortController(), new AbortController()]
  const calls = controllers.map(({ signal }) => watch(queue.fetch(ORDERS, { ...ON_401, signal })))
  await clock.settle()
  for (const each of left) controllers[each]?.abort()
  await clock.settle()
  expect(asked[0]?.signal.aborted).toBe(isOver)
  answer()
  await clock.settle()
  const states = calls.map(({ state }, nth) => [state, left.includes(nth)])
  expect(states.every(([state, hasLeft]) => state === (hasLeft ? 'rejected' : 'resolved'))).toBe(true)
  expect(asked).toHaveLength(1)
})

/** Two tabs of one page, with a queue each and one lock manager. */
async function twoTabs() {
  const locks = new FakeTab(new FakeBrowser())
  vi.stubGlobal('location', new URL(ORDERS))
  vi.stubGlobal('navigator', { locks })
  const [one, two] = [session(true), session(true)]
  const { queue, server, clock, events } = await setup({ credentials: one.credentials, durable: false })
  const other = await setup({ credentials: two.credentials, durable: false, clock, fetch: server.fetch })
  return { one, two, queue, other: other.queue, server, clock, events, locks }
}

test('two tabs ask one after the other, each its own credentials', async () => {
  const { one, two, queue, other, server, clock } = await twoTabs()
  always(server, 401, 2)
  const answers = [queue.fetch(ORDERS, ON_401), other.fetch(ORDERS, ON_401)]
  await clock.settle()
  expect([one.waiting(), two.waiting()]).toEqual([1, 0])
  one.answer()
  await clock.settle()
  expect([one.waiting(), two.waiting()]).toEqual([0, 1])
  two.answer()
  await clock.settle()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
})

test('a tab whose hook hangs holds up the other for 5 s at most', async () => {
  const { one, two, queue, other, server, clock } = await twoTabs()
  always(server, 401, 2)
  const [hung, answered] = [watch(queue.fetch(ORDERS, ON_401)), watch(other.fetch(ORDERS, ON_401))]
  await clock.advance(4_999)
  expect([one.waiting(), two.waiting()]).toEqual([1, 0])
  await clock.advance(1)
  expect([hung.value?.status, two.waiting()]).toEqual([401, 1])
  expect(one.asked[0]?.signal.aborted).toBe(true)
  two.answer()
  await clock.settle()
  expect(answered.value?.status).toBe(200)
})

test.each<[what: string, set: (locks: FakeTab) => void, afterMs: number]>([
  ['refuse', (locks) => Object.assign(locks, { refusal: new DOMException('no', 'SecurityError') }), 0],
  ['do not answer', (locks) => Object.assign(locks, { isMute: true }), 5_000],
])('locks that %s keep no one from asking', async (_what, set, afterMs) => {
  const { one, queue, server, clock, locks } = await twoTabs()
  set(locks)
  server.reply(401)
  const answer = watch(queue.fetch(ORDERS, ON_401))
  await clock.advance(afterMs)
  one.answer()
  await clock.settle()
  expect(answer.value?.status).toBe(200)
})
