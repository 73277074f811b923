/** S16: the principal that is there is the one that was named last, whenever its page came to tell the store. */

import { expect, test } from 'vitest'
import { DAY_MS, LONG_MS } from './principals-setup.ts'
import { closeNow, login, ORDERS, watch } from './setup.ts'
import { type Browser, browser, openLate, page } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'of ann' } as const

/** Three tasks of ann's in its store, unsent, and no tab. */
async function withTasks(device: Browser = browser()): Promise<Browser> {
  const { open, close } = device
  const tab = await open({ principal: 'ann' })
  tab.queue.pause()
  for (let i = 0; i < 3; i++) await tab.queue.enqueue(ORDERS, POST)
  await close(tab)
  return device
}

test.for([
  ['ann’s is not believed over ben’s, which was made after it', 'ann', 'ben', 0],
  ['ben’s is not believed over ann’s, which was made after it', 'ben', 'ann', 3],
] as const)(
  'S16 of two pages the one that loads last is not the one that counts: %s',
  async ([, slow, quick, hits]) => {
    const device = await withTasks()
    const { open, clock, hitsAfter } = device
    const { opening, arrive } = await openLate(device, { principal: slow })
    await open({ principal: quick })
    await clock.advance(30_000)
    arrive()
    const tab = await opening
    await tab.queue.flush()
    expect(await hitsAfter(LONG_MS)).toBe(hits)
    // a login that the late page names counts from then on
    await tab.queue.setPrincipal('ann')
    expect(await hitsAfter(LONG_MS)).toBe(3)
  },
)

test('S16 a store that is opened again after an outage is not told anew who was there before it', async () => {
  const device = await withTasks()
  const { open, clock, server } = device
  const { opening, arrive } = await openLate(device, { principal: 'ann' })
  device.isDown = true
  arrive()
  const ann = await opening
  expect(ann.events.of('degraded')).toMatchObject([{ code: 'storage_unavailable' }])
  device.isDown = false
  await open({ principal: 'ben' })
  await clock.advance(2 * LONG_MS)
  expect(ann.calls).toContain('turn')
  expect(server.hits).toBe(0)
})

test.for([
  ['an hour', 3_600_000],
  ['half a minute', 30_000],
] as const)('S16 a page that is opened after the clock was set back by %s is believed', async ([, ms]) => {
  const device = browser()
  const { open, clock, hitsAfter } = device
  await open({ principal: 'ben' })
  await withTasks(device)
  const ben = await open({ principal: 'ben' })
  await clock.advance(1_000)
  clock.step(-ms)
  await clock.advance(10)
  await open({ principal: 'ann' })
  expect(await hitsAfter(LONG_MS)).toBe(3)
  await ben.queue.setPrincipal('ben')
  expect((await ben.queue.list()).tasks).toEqual([])
})

test('S16 a tab that names another after the clock was set back is believed, and its word stands', async () => {
  const device = await withTasks()
  const { open, clock, hitsAfter } = device
  const tab = await open({ principal: 'ben' })
  await clock.advance(1_000)
  clock.step(-DAY_MS)
  await clock.advance(1_000)
  await tab.queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(3)
})

test.for([
  ['before', -3_600_000, 0],
  ['after', 0, -3_600_000],
] as const)(
  'S16 a late page is not believed over ben’s where the clock was set back %s his login',
  async ([, first, then]) => {
    const device = await withTasks()
    const { open, clock, hitsAfter } = device
    const { opening, arrive } = await openLate(device, { principal: 'ann' })
    clock.step(first)
    await clock.advance(20)
    await open({ principal: 'ben' })
    await clock.advance(1_000)
    clock.step(then)
    arrive()
    await opening
    expect(await hitsAfter(LONG_MS)).toBe(0)
  },
)

test('S16 of two logins at once the one that ended last counts, since its cookies were set last', async () => {
  const device = await withTasks()
  const { open, clock, server, hitsAfter } = device
  const logins = [login(), login()] as const
  const [one, two] = [await open({ principal: null }), await open({ principal: null })]
  const ann = watch(one.queue.setPrincipal('ann', { during: logins[0].during }))
  await clock.advance(10)
  const ben = watch(two.queue.setPrincipal('ben', { during: logins[1].during }))
  expect(await hitsAfter(1_000)).toBe(0)
  logins[1].end()
  await clock.advance(1_000)
  logins[0].end()
  await clock.advance(LONG_MS)
  expect([ann.state, ben.state]).toEqual(['resolved', 'resolved'])
  expect(server.hits).toBe(3)
})

test('S16 a login that fails leaves the one who was there before it, though that was another tab’s', async () => {
  const device = browser()
  const { open, clock, server, hitsAfter } = device
  const ann = await open({ principal: 'ann' })
  ann.queue.pause()
  await ann.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  const ben = await open({ principal: 'ben' })
  await clock.advance(1_000)
  ann.queue.resume()
  const wrong = new Error('wrong password')
  await expect(ann.queue.setPrincipal('cid', { during: () => Promise.reject(wrong) })).rejects.toBe(wrong)
  expect(await hitsAfter(LONG_MS)).toBe(0)
  await ben.queue.enqueue(ORDERS, { method: 'POST', body: 'of ben' })
  await clock.advance(LONG_MS)
  expect(server.requests.map(({ body }) => body)).toEqual(['of ben'])
})

test('S16 a login in a page that is still loading, and that fails, makes its principal no younger', async () => {
  const device = await withTasks()
  const { open, clock, hitsAfter } = device
  const { opening, arrive } = await openLate(device, { principal: 'ann' })
  await open({ principal: 'ben' })
  await clock.advance(1_000)
  arrive()
  const ann = await opening
  const wrong = new Error('wrong password')
  await expect(ann.queue.setPrincipal('cid', { during: () => Promise.reject(wrong) })).rejects.toBe(wrong)
  expect(await hitsAfter(LONG_MS)).toBe(0)
})

test('S16 a principal that the store could not be told of is told as soon as it can be', async () => {
  const device = await withTasks()
  const { open, clock, hitsAfter } = device
  const tab = await open({ principal: null })
  await clock.advance(1_000)
  device.isDown = true
  await expect(tab.queue.setPrincipal('ann')).rejects.toThrow()
  expect(await hitsAfter(5_000)).toBe(0)
  device.isDown = false
  expect(await hitsAfter(LONG_MS)).toBe(3)
})

test('S16 where the browser has cleared the store the one who was there still is, and any other still is not', async () => {
  const device = browser()
  const { open, clock, server } = device
  const ann = await open({ principal: 'ann' })
  ann.queue.pause()
  await ann.queue.enqueue(ORDERS, POST)
  await clock.advance(1_000)
  const ben = await open({ principal: 'ben' })
  ann.queue.resume()
  await clock.advance(1_000)
  device.forgetPrincipal()
  await ben.queue.enqueue(ORDERS, { method: 'POST', body: 'of ben' })
  await clock.advance(LONG_MS)
  expect(server.requests.map(({ body }) => body)).toEqual(['of ben'])
})

test('S16 what waits in the memory of a page that is put away waits until it knows who is there', async () => {
  const { open, clock, server, hitsAfter } = browser()
  const ben = await open({ principal: null })
  const { happens } = page()
  const ann = await open({ principal: 'ann', isDeaf: true })
  server.reply(503)
  const answer = watch(ann.queue.fetch(ORDERS, { redrive: { waitMs: DAY_MS } }))
  await clock.settle()
  happens('freeze')
  await clock.settle()
  await ben.queue.setPrincipal('ben')
  // its timers may come before the page hears that it is back
  await clock.advance(LONG_MS)
  happens('resume')
  expect(await hitsAfter(LONG_MS)).toBe(1)
  await ann.queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect(answer.value?.status).toBe(200)
  await closeNow(ann.queue, clock)
})
