/** What explain() knows of a stored task once another page, or another process, asks: all that was decided before. */

import { expect, onTestFinished, test } from 'vitest'
import { type Decision, RetryQueue, type TaskStore } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { opened, type Process, type World, withMethods, world } from './durable-setup.ts'
import { dataOf, enqueued, lastOf, lines, POST } from './explain-setup.ts'
import { closeNow, forApi, ORDERS, PLAIN_CURVE } from './setup.ts'
import { firstLayout } from './sqlite/setup.ts'

const OWN_DELAY = 'waits: waits for its own delay until 00:00:01'

/** What the next process says of it, which starts nothing itself. */
async function afterReload(scene: World & Process, taskId: string): Promise<readonly Decision[]> {
  await scene.close(scene)
  const next = await scene.open()
  next.queue.pause()
  return next.queue.explain(taskId)
}

test('numbers and words of an attempt are the same after a reload', async () => {
  const scene = await opened({}, [503, { 'retry-after': '120' }])
  const taskId = await enqueued(scene)
  const before = await scene.queue.explain(taskId)
  expect(before).toHaveLength(4)
  const after = await afterReload(scene, taskId)
  expect(after.slice(0, 3)).toEqual(before.slice(0, 3))
  expect(lastOf(after)).toEqual({ ...lastOf(before), at: scene.clock.now() })
})

test('S1 a queue that closes gives its attempt back, and says so', async () => {
  const scene = await opened({}, 'hangs')
  const taskId = await enqueued(scene)
  const decisions = await afterReload(scene, taskId)
  expect(decisions[1]).toMatchObject({
    kind: 'released',
    text: 'no answer, its queue was closed; given back, not counted; due again at once',
    data: { cause: 'closing', counted: false, attemptNumber: 1 },
  })
})

test('a pause while the credentials were asked for', async () => {
  const scene = world()
  const first = await scene.open({
    credentials: forApi(() => {
      first.queue.pause()
      return {}
    }),
  })
  const taskId = await enqueued({ ...scene, ...first })
  expect(dataOf(await afterReload({ ...scene, ...first }, taskId))[1]).toMatchObject({
    kind: 'released',
    cause: 'paused',
  })
})

test('a due task waits for a free place, which another process may hold', async () => {
  const scene = world()
  const first = await scene.open({ concurrency: 1 })
  scene.server.hang()
  await enqueued({ ...scene, ...first })
  const second = await scene.open({ concurrency: 1 })
  const { taskId } = await second.queue.enqueue(`${ORDERS}/2`, POST)
  await scene.clock.settle()
  expect(lastOf(await second.queue.explain(taskId))).toMatchObject({
    kind: 'waits',
    text: 'waits for a process with a free place (concurrency): it is due, and others may hold the places',
    data: { gate: 'ready' },
  })
})

test.each([
  ['has no entry for its origin', {}],
  ['gives nothing', { credentials: forApi(() => ({})) }],
])('S12 a task is parked where `credentials` %s', async (_what, options) => {
  const scene = world()
  const first = await scene.open()
  first.queue.pause()
  const taskId = await enqueued({ ...scene, ...first }, { ...POST, headers: { authorization: 'Bearer hush' } })
  await scene.close(first)
  const second = await scene.open(options)
  await scene.clock.advance(1_000)
  const decisions = await afterReload({ ...scene, ...second }, taskId)
  expect(decisions.find(({ kind }) => kind === 'parked')).toMatchObject({
    text: 'not sent, `credentials` did not give a header it needs; parked',
    data: { cause: 'credentials_missing', counted: false },
  })
  expect(JSON.stringify(decisions)).not.toContain('hush')
})

test('credentials that failed, and 401 twice', async () => {
  const scene = world()
  let fails = true
  const first = await scene.open({
    credentials: forApi(() => (fails ? Promise.reject(new Error('no')) : { authorization: 'Bearer x' })),
  })
  const taskId = await enqueued({ ...scene, ...first })
  fails = false
  scene.server.reply(401).reply(401)
  await scene.clock.advance(60_000)
  const kinds = ['queued', 'released', 'attempt', 'released', 'attempt', 'parked', 'waits']
  const decisions = await first.queue.explain(taskId)
  expect(decisions.map(({ kind }) => kind)).toEqual(kinds)
  expect(lastOf(decisions)?.text).toBe(
    'waits for resume() or setPrincipal(), since its credentials are missing or were refused',
  )
  const later = await afterReload({ ...scene, ...first }, taskId)
  expect(dataOf(later).slice(1, 6)).toMatchObject([
    { cause: 'credentials_failed' },
    { attemptNumber: 1 },
    { cause: 'unauthorized', authorize: true, responseStatus: 401 },
    { attemptNumber: 1 },
    { cause: 'unauthorized', counted: false },
  ])
})

test('L2 a process that died leaves its attempt to others, and how it ended is unknown', async () => {
  const scene = world()
  const dead = await scene.open()
  scene.server.hang()
  const taskId = await enqueued({ ...scene, ...dead })
  // what it holds runs out, and it renews nothing any more
  scene.clock.step(120_000)
  await scene.store.turn({ owner: 'another', settle: [], renew: [], claim: null })
  const decisions = await (await scene.open()).queue.explain(taskId)
  expect(decisions[1]).toMatchObject({
    kind: 'lost',
    text: 'how attempt 1 ended is unknown, since the process that made it is gone; due again at once',
    data: { attemptNumber: 1 },
  })
})

test('given up while it waited, cancelled while it waited: when, and not when it was last tried', async () => {
  const scene = await opened({}, 503, 503)
  const expires = { ...POST, redrive: { expiresAt: scene.clock.now() + 30_000 } }
  const start = scene.clock.now()
  const late = await enqueued(scene, expires)
  const unwanted = await enqueued(scene)
  scene.queue.pause()
  await scene.clock.advance(10_000)
  await scene.queue.cancel(unwanted)
  await scene.clock.advance(50_000)
  scene.queue.resume()
  await scene.clock.advance(1_000)
  expect(lastOf(await scene.queue.explain(unwanted))).toMatchObject({ kind: 'cancelled', at: start + 10_000 })
  const end = lastOf(await scene.queue.explain(late))
  expect(end).toMatchObject({ kind: 'exhausted', text: 'given up: expired', data: { reason: 'expired' } })
  expect(end?.at).toBeGreaterThanOrEqual(start + 30_000)
})

test('cancelled in flight: its attempt is told once', async () => {
  const scene = await opened({}, 'hangs')
  const taskId = await enqueued(scene)
  await scene.queue.cancel(taskId)
  await scene.clock.settle()
  expect((await afterReload(scene, taskId)).map(({ kind }) => kind)).toEqual(['queued', 'attempt', 'cancelled'])
})

test.for<[what: string, history: (store: TaskStore) => TaskStore['history'], said: readonly string[]]>([
  ['what has no history', () => undefined, ['retry: 503; next in 1 s, at 00:00:01', OWN_DELAY]],
  [
    'S20 what a version wrote that knew no data',
    (store) => async (taskId) => ((await store.history?.(taskId)) ?? []).map(({ kind: _, data: __, ...log }) => log),
    ['retry: 503: next at 00:00:01', OWN_DELAY],
  ],
  [
    'S20 what a later version calls by a name of its own',
    (store) => async (taskId) =>
      ((await store.history?.(taskId)) ?? []).map((log) => ({
        ...log,
        kind: 'moved' as never,
        decision: 'moved to a friend',
      })),
    ['moved: moved to a friend', OWN_DELAY],
  ],
])('%s is told as far as it goes, in its own words', async ([, historyOf, said]) => {
  const scene = world((store) => withMethods(store, { history: historyOf(store) as never }))
  const first = await scene.open()
  scene.server.reply(503)
  const taskId = await enqueued({ ...scene, ...first })
  expect(lines(await first.queue.explain(taskId)).slice(2)).toEqual(said)
})

test('S20 a file of the first layout explains what it has', async () => {
  const path = firstLayout()
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({
    clock,
    fetch: server.fetch,
    store: sqliteStore({ path, clock }),
    principal: null,
    policy: PLAIN_CURVE,
  })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  queue.pause()
  const [letter] = (await queue.deadLetters.list()).tasks
  const taskId = letter?.taskId ?? ''
  expect(lines(await queue.explain(taskId)).slice(1)).toEqual([
    'attempt: attempt 1 was sent',
    'retry: 200',
    'exhausted: given up: vetoed',
  ])
  await queue.deadLetters.redrive(taskId)
  expect(lines(await queue.explain(taskId)).slice(2)).toEqual([
    'retry: 200',
    'redriven: put back from the dead letters, attempts counted anew',
    'waits: waits for resume()',
  ])
})
