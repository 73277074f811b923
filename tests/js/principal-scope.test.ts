/** A user sees the tasks of that user. Who runs the program may ask for those of all. */

import { expect, test } from 'vitest'
import { device } from './principals-setup.ts'
import { ORDERS, setup } from './setup.ts'

const ALL = { allPrincipals: true } as const
const POST = { method: 'POST', body: 'tea' } as const

/** Ann has one task that waits, and two dead letters; then Ben is there, who has one of each. */
async function scene(kind: 'stored' | 'in memory') {
  const redrive = kind === 'stored' ? {} : { sensitive: true }
  const { open, server, clock, store } = device()
  const policies = [{ policyId: 'slow', strategy: 'fixed', initialDelayMs: 3_600_000, maxDelayMs: 3_600_000 }] as const
  const options = { policy: { maxAttempts: 1 }, policies, breaker: false, retryBudget: false } as const
  const { queue } =
    kind === 'stored'
      ? await open(options)
      : await setup({ ...options, clock, fetch: server.fetch, principal: 'ann', durable: false })
  const dead = async (path: string) => {
    server.reply(503)
    const { taskId } = await queue.enqueue(`${ORDERS}/${path}`, { ...POST, redrive })
    await clock.advance(1_000)
    return taskId
  }
  const waiting = async (path: string) => {
    server.reply(503)
    const slow = { ...redrive, policyId: 'slow' }
    const { taskId } = await queue.enqueue(`https://${path}.test/`, { ...POST, redrive: slow })
    await clock.advance(1_000)
    return taskId
  }
  const ann = { dead: [await dead('a1'), await dead('a2')], waits: await waiting('of-ann') }
  await queue.setPrincipal('ben')
  const ben = { dead: [await dead('b1')], waits: await waiting('of-ben') }
  await clock.settle()
  return { queue, server, clock, store, ann, ben, hits: server.hits }
}

const KINDS = ['stored', 'in memory'] as const
const ids = ({ tasks }: { readonly tasks: readonly { readonly taskId: string }[] }) => tasks.map(({ taskId }) => taskId)

test.each(KINDS)('S16 list() and get() show the tasks of the one who is there: %s', async (kind) => {
  const { queue, ann, ben } = await scene(kind)
  expect(ids(await queue.list())).toEqual([...ben.dead, ben.waits])
  expect(ids(await queue.list({ status: 'PENDING' }))).toEqual([ben.waits])
  expect(ids(await queue.list({ origin: 'https://of-ann.test' }))).toEqual([])
  expect(ids(await queue.list(ALL))).toEqual([...ann.dead, ann.waits, ...ben.dead, ben.waits])
  expect(ids(await queue.list({ ...ALL, status: 'PENDING' }))).toEqual([ann.waits, ben.waits])
  expect(await queue.get(ann.waits)).toBeUndefined()
  expect(await queue.get(ben.waits)).toMatchObject({ principal: 'ben' })
  expect(await queue.get(ann.waits, ALL)).toMatchObject({ principal: 'ann' })
  await queue.setPrincipal('ann')
  expect(ids(await queue.list())).toEqual([...ann.dead, ann.waits])
})

test.each(KINDS)('S16 pages of one user have no holes: %s', async (kind) => {
  const { queue, ben } = await scene(kind)
  const first = await queue.list({ limit: 1 })
  expect(ids(first)).toEqual(ben.dead)
  const second = await queue.list({ limit: 1, ...(first.cursor ? { cursor: first.cursor } : {}) })
  expect(ids(second)).toEqual([ben.waits])
})

test.each(KINDS)('S16 what was done about a task of another is told to tools only: %s', async (kind) => {
  const { queue, ann } = await scene(kind)
  const [taskId = ''] = ann.dead
  expect(await queue.explain(taskId)).toEqual([])
  expect(await queue.attempts(taskId)).toEqual({ attempts: [] })
  await expect(queue.result(taskId)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect((await queue.explain(taskId, ALL)).length).toBeGreaterThan(0)
  expect((await queue.attempts(taskId, ALL)).attempts).toHaveLength(1)
  expect((await queue.result(taskId, ALL)).task).toMatchObject({ taskId })
})

test.each(KINDS)('S16 a task of another is not cancelled: %s', async (kind) => {
  const { queue, ann, ben } = await scene(kind)
  expect(await queue.cancel(ann.waits)).toBe('gone')
  expect(await queue.get(ann.waits, ALL)).toMatchObject({ status: 'PENDING' })
  expect(await queue.cancel(ben.waits)).toBe('cancelled')
  expect(await queue.cancel(ann.waits, ALL)).toBe('cancelled')
})

test.each(KINDS)('S16 dead letters are listed, exported, put back and purged of one user: %s', async (kind) => {
  const { queue, ann, ben } = await scene(kind)
  const { deadLetters } = queue
  expect(ids(await deadLetters.list())).toEqual(ben.dead)
  expect(ids(await deadLetters.list(ALL))).toEqual([...ann.dead, ...ben.dead])
  expect(ids(JSON.parse(await deadLetters.export()))).toEqual(ben.dead)
  expect(ids(JSON.parse(await deadLetters.export(ALL)))).toEqual([...ann.dead, ...ben.dead])
  const [first = '', second = ''] = ann.dead
  await expect(deadLetters.redrive(first)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
  expect(await deadLetters.purge(first)).toBe(0)
  expect(await deadLetters.redriveAll()).toBe(1)
  expect(ids(await deadLetters.list(ALL))).toEqual(ann.dead)
  expect(await deadLetters.purgeAll()).toBe(0)
  expect(await deadLetters.redrive(first, ALL)).toMatchObject({ status: 'PENDING', principal: 'ann' })
  expect(await deadLetters.purge(second, ALL)).toBe(1)
  expect(ids(await deadLetters.list(ALL))).toEqual([])
})

test.each(KINDS)('S16 purgeAll() deletes the dead letters of one user, or of all: %s', async (kind) => {
  const { queue, ann } = await scene(kind)
  expect(await queue.deadLetters.purgeAll()).toBe(1)
  expect(ids(await queue.deadLetters.list(ALL))).toEqual(ann.dead)
  expect(await queue.deadLetters.purgeAll(ALL)).toBe(2)
  expect((await queue.list({ ...ALL, status: 'PENDING' })).tasks).toHaveLength(2)
})

test.each(KINDS)('S16 stats() count the tasks of one user, and name no origin of another: %s', async (kind) => {
  const { queue, clock } = await scene(kind)
  expect(queue.stats()).toMatchObject({ depth: 1, inFlight: 0, deadLetters: 1 })
  const origins = Object.entries(queue.stats().origins).filter(([, { depth }]) => depth > 0)
  expect(origins.map(([origin]) => origin)).toEqual(['https://of-ben.test'])
  expect(Object.keys(queue.stats().origins)).not.toContain('https://of-ann.test')
  expect(queue.stats(ALL)).toMatchObject({ depth: 2, deadLetters: 3 })
  await queue.setPrincipal('ann')
  await clock.settle()
  expect(queue.stats()).toMatchObject({ depth: 1, deadLetters: 2 })
  await queue.setPrincipal('cid')
  await clock.settle()
  expect(queue.stats()).toMatchObject({ depth: 0, deadLetters: 0, nextAttemptAt: null })
})

test('S16 stats() of a queue over a store that another user has filled', async () => {
  const { open, close, clock } = device()
  const first = await open()
  first.queue.pause()
  for (let n = 0; n < 3; n++) await first.queue.enqueue(`${ORDERS}/${n}`, POST)
  await close(first.queue)
  const { queue } = await open({ principal: 'ben' })
  await clock.settle()
  expect(queue.stats()).toMatchObject({ depth: 0, deadLetters: 0 })
  expect(queue.stats(ALL)).toMatchObject({ depth: 3 })
})
