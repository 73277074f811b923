/** S16 over several tabs: whatever waits in one, in the store or in its memory, waits while another tab's user is there. */

import { expect, test } from 'vitest'
import { forApi, ORDERS, watch } from './setup.ts'
import { browser } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'of A' } as const

test.for([
  ['is heard of', false],
  ['is not heard of', true],
] as const)(
  'S16 a switch in another tab that %s while credentials are asked for: given back unsent',
  async ([, isDeaf]) => {
    const { open, clock, hitsAfter } = browser()
    const given: ((headers: Record<string, string>) => void)[] = []
    const credentials = () => new Promise<Record<string, string>>((resolve) => given.push(resolve))
    const one = await open({ principal: 'A', credentials: forApi(credentials), isDeaf })
    const { taskId } = await one.queue.enqueue(ORDERS, POST)
    await clock.settle()
    expect(given).toHaveLength(1)
    const two = await open({ principal: 'A' })
    await two.queue.setPrincipal('B')
    await clock.settle()
    given[0]?.({ authorization: 'A' })
    expect(await hitsAfter(10_000)).toBe(0)
    expect(await two.queue.get(taskId, { allPrincipals: true })).toMatchObject({ status: 'PENDING', attemptNumber: 0 })
  },
)

test.for([
  ['GET, which is not stored', { method: 'GET' }],
  ['a POST marked as sensitive', { ...POST, redrive: { sensitive: true } }],
  ['a POST in the store', POST],
] as const)('S16 a call that waits in one tab waits while another is there in another: %s', async ([, init]) => {
  const { open, clock, server, hitsAfter } = browser()
  const one = await open({ principal: 'A' })
  server.reply(503)
  const answer = watch(
    one.queue.fetch(ORDERS, { ...init, redrive: { waitMs: 100_000, ...('redrive' in init && init.redrive) } }),
  )
  await clock.settle()
  const two = await open({ principal: 'B' })
  expect(await hitsAfter(20_000)).toBe(1)
  await two.queue.setPrincipal('A')
  await clock.advance(5_000)
  expect([answer.value?.status, server.hits]).toEqual([200, 2])
})

test('S16 a store that cannot say who is there is asked again: nothing is sent meanwhile, everything afterwards', async () => {
  const { open, clock, hitsAfter } = browser()
  const one = await open({ principal: 'A' })
  one.queue.pause()
  await one.queue.enqueue(ORDERS, POST)
  const two = await open({ principal: 'A' })
  await clock.settle()
  one.failsToSay = true
  await two.queue.setPrincipal('B')
  await two.queue.setPrincipal('A')
  await two.queue.close()
  one.queue.resume()
  expect(await hitsAfter(5_000)).toBe(0)
  one.failsToSay = false
  expect(await hitsAfter(60_000)).toBe(1)
})

test('what waits for another user keeps nobody from being idle: in a tab of somebody else', async () => {
  const { open, clock, server } = browser()
  const one = await open({ principal: 'A' })
  const two = await open({ principal: 'B' })
  server.reply(503, { 'retry-after': '3600' })
  await two.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  const [idle, busy] = [watch(one.queue.idle()), watch(two.queue.idle())]
  await clock.advance(1_000)
  expect([idle.state, busy.state]).toEqual(['resolved', 'pending'])
})

test('what waits for another user keeps nobody from being idle: where everything is paused', async () => {
  const { open, close, clock, server } = browser()
  const two = await open({ principal: 'B' })
  server.reply(503, { 'retry-after': '3600' })
  await two.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  await close(two)
  const { queue } = await open({ principal: 'A' })
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS, POST)
  const idle = watch(queue.idle())
  await clock.advance(1_000)
  expect(idle.state).toBe('pending')
  await queue.cancel(taskId)
  await clock.advance(1_000)
  expect(idle.state).toBe('resolved')
})
