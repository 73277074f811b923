/** What waits in the store and what waits in memory share one limit: whoever was kept back has its turn when there is room. */

import { expect, test, vi } from 'vitest'
import { withMethods, world } from './durable-setup.ts'
import { forApi, ORDERS, stub, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const

test('L1 a stored task that one in memory kept out of its lane is taken up when that has ended', async () => {
  const { open, server, clock, hitsAfter } = world()
  const policy = { strategy: 'table', delaysMs: [0], attemptTimeoutMs: 0 } as const
  const { queue } = await open({ concurrency: 2, concurrencyPerOrigin: 1, policy })
  const endFirst = server.hang()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(0)
  // its retry is due at once, and has to wait for the one that runs
  server.reply(503)
  const read = watch(queue.fetch(ORDERS))
  await clock.advance(0)
  const endRead = server.hang()
  // due again at once as well, behind the other
  endFirst(503)
  expect(await hitsAfter(5_000)).toBe(3)
  endRead(200)
  await clock.advance(0)
  expect(read.value?.status).toBe(200)
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('S7 a task that time has ended in the middle of an attempt gives its place back', async () => {
  // its lease is short, and nobody gets to renew it
  const { open, server, clock } = world((store) =>
    withMethods(store, {
      turn: (step) => store.turn({ ...step, renew: [], claim: step.claim && { ...step.claim, leaseMs: 1_000 } }),
    }),
  )
  let answer = (_: HeadersInit) => {}
  const asked = () =>
    new Promise<HeadersInit>((resolve) => {
      answer = resolve
    })
  const { queue, events } = await open({ concurrency: 1, policy: { maxAttempts: 1 }, credentials: forApi(asked) })
  const { taskId } = await queue.enqueue(ORDERS, POST)
  await clock.advance(2_000)
  const next = await queue.enqueue(`${ORDERS}/2`, POST)
  await clock.advance(0)
  expect(await queue.get(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'outcome_unknown' })
  answer({})
  await clock.advance(0)
  answer({})
  await clock.advance(0)
  expect(await queue.get(next.taskId)).toMatchObject({ status: 'SUCCEEDED' })
  expect(server.requests.map(({ url }) => url)).toEqual([`${ORDERS}/2`])
  expect(events.names()).toEqual(['queued', 'queued', 'exhausted', 'attempt', 'succeeded'])
})

test('L1 the network comes back while a queue that was opened without it still reads its store: what waits is claimed', async () => {
  const listeners = new Map<string, () => void>()
  stub({
    addEventListener: (name: string, listener: () => void) => listeners.set(name, listener),
    navigator: { onLine: true },
  })
  const answers: (() => void)[] = []
  let isSlow = false
  const { open, close, clock, hitsAfter } = world((store) =>
    withMethods(store, {
      async turn(step) {
        const turn = await store.turn(step)
        if (isSlow) await new Promise<void>((resolve) => answers.push(resolve))
        return turn
      },
    }),
  )
  const before = await open()
  before.queue.pause()
  await before.queue.enqueue(ORDERS, POST)
  await close(before)

  vi.stubGlobal('navigator', { onLine: false })
  isSlow = true
  const opening = open()
  await clock.settle()
  expect(answers).toHaveLength(1)
  vi.stubGlobal('navigator', { onLine: true })
  listeners.get('online')?.()
  isSlow = false
  for (const answer of answers) answer()
  await opening
  expect(await hitsAfter(60_000)).toBe(1)
})

test('a task that there is no room for here costs the store no turn, and starts when there is', async () => {
  let turns = 0
  const { open, server, clock } = world((store) =>
    withMethods(store, {
      turn(step) {
        turns++
        return store.turn(step)
      },
    }),
  )
  const { queue } = await open({ concurrency: 1 })
  queue.pause()
  await clock.advance(0)
  const before = turns
  for (let i = 0; i < 3; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  await clock.advance(60_000)
  expect(turns).toBe(before)
  const end = server.hang()
  queue.resume()
  await clock.advance(0)
  const running = turns
  await queue.enqueue(`${ORDERS}/3`, POST)
  await clock.advance(0)
  expect(turns).toBe(running)
  end(200)
  await clock.advance(0)
  expect(server.requests.map(({ url }) => url)).toEqual([0, 1, 2, 3].map((i) => `${ORDERS}/${i}`))
})
