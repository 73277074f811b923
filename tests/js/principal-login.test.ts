/** S16: while a principal logs in, in whichever tab, no tab of the browser sends anything. */

import { expect, test } from 'vitest'
import { DAY_MS, LONG_MS } from './principals-setup.ts'
import { login, ORDERS, watch } from './setup.ts'
import { type Browser, browser, page, type Tab } from './tabs-setup.ts'

const postOf = (body: string) => ({ method: 'POST', body }) as const

const bodies = ({ server }: Browser) => server.requests.map(({ body }) => body)

/** One tab logs ben in, who has a tab with a task of his already. */
async function underWay(device: Browser) {
  const tab = await device.open({ principal: 'ann' })
  tab.queue.pause()
  await tab.queue.enqueue(ORDERS, postOf('of ann'))
  await device.clock.advance(1_000)
  const bens = await device.open({ principal: 'ben' })
  bens.queue.pause()
  const { taskId } = await bens.queue.enqueue(ORDERS, postOf('of ben'))
  await device.clock.advance(1_000)
  await tab.queue.setPrincipal('ann')
  await device.clock.advance(1_000)
  const { during, end } = login()
  const switched = watch(tab.queue.setPrincipal('ben', { during }))
  await device.clock.settle()
  tab.queue.resume()
  bens.queue.resume()
  return { tab, bens, taskId, end, switched }
}

test('S16 a tab that is ben’s already sends nothing while he logs in in another, and goes on when he has', async () => {
  const device = browser()
  const { end, switched } = await underWay(device)
  expect(await device.hitsAfter(LONG_MS)).toBe(0)
  end()
  await device.clock.advance(1_000)
  expect(switched.state).toBe('resolved')
  expect(bodies(device)).toEqual(['of ben'])
})

test.for(['ann', 'ben', 'cid'])('S16 a page that is opened meanwhile and names %s sends nothing', async (named) => {
  const device = browser()
  const { end } = await underWay(device)
  const other = await device.open({ principal: named })
  await other.queue.enqueue(ORDERS, postOf('of the other'))
  await other.queue.enqueue(ORDERS, { ...postOf('in memory'), redrive: { sensitive: true } })
  expect(await device.hitsAfter(LONG_MS)).toBe(0)
  end()
  await device.clock.advance(LONG_MS)
  const his = ['in memory', 'of ben', 'of the other']
  expect(bodies(device).toSorted()).toEqual(named === 'ben' ? his : ['of ben'])
})

test('S16 what waits in the memory of a tab is not sent either, by whichever name', async () => {
  const device = browser()
  const { open, server, clock, hitsAfter } = device
  const tab = await open({ principal: 'ben' })
  server.reply(503)
  const waiting = watch(tab.queue.fetch(ORDERS, { redrive: { waitMs: DAY_MS } }))
  await clock.settle()
  const { during, end } = login()
  const other = await open({ principal: 'ben' })
  void other.queue.setPrincipal('ben', { during })
  expect(await hitsAfter(LONG_MS)).toBe(1)
  end()
  await clock.advance(1_000)
  expect(waiting.value?.status).toBe(200)
})

test('S16 after a login that fails the one named last counts, also a page that was opened meanwhile', async () => {
  const device = browser()
  const { end, switched } = await underWay(device)
  const cid = await device.open({ principal: 'cid' })
  await cid.queue.enqueue(ORDERS, postOf('of cid'))
  await device.clock.advance(1_000)
  end(new Error('wrong password'))
  await device.clock.advance(LONG_MS)
  expect(switched.state).toBe('rejected')
  expect(bodies(device)).toEqual(['of cid'])
})

test('S16 of two logins in two tabs both have to end', async () => {
  const device = browser()
  const { tab, bens, end } = await underWay(device)
  const second = login()
  void bens.queue.setPrincipal('ben', { during: second.during })
  await device.clock.advance(1_000)
  end()
  await device.clock.settle()
  await tab.queue.enqueue(ORDERS, { ...postOf('in memory'), redrive: { sensitive: true } })
  expect(await device.hitsAfter(LONG_MS)).toBe(0)
  second.end()
  await device.clock.advance(1_000)
  expect(bodies(device).toSorted()).toEqual(['in memory', 'of ben'])
})

const GONE: readonly [string, (device: Browser, tab: Tab) => unknown][] = [
  ['crashes', (_, tab) => tab.crash()],
  ['is closed', ({ close }, tab) => close(tab)],
]
test.for(GONE)(
  'L3 S16 where the tab that logs in %s, the one named last goes on within a second',
  async ([_, goes]) => {
    const device = browser()
    const { tab } = await underWay(device)
    const ann = await device.open({ principal: 'ann' })
    expect(await device.hitsAfter(5_000)).toBe(0)
    await goes(device, tab)
    await device.clock.advance(1_000)
    expect(bodies(device)).toEqual(['of ann'])
    expect(await ann.queue.list({ status: 'PENDING' })).toEqual({ tasks: [] })
  },
)

test('L3 S16 a page that is frozen while it logs in holds no other up, and does so again once it is back', async () => {
  const device = browser()
  const { open, clock, server, hitsAfter } = device
  const ann = await open({ principal: 'ann' })
  const { happens } = page()
  const tab = await open({ principal: 'ann' })
  const { during, end } = login()
  const switched = watch(tab.queue.setPrincipal('ben', { during }))
  await clock.settle()
  await ann.queue.enqueue(ORDERS, postOf('of ann'))
  expect(await hitsAfter(LONG_MS)).toBe(0)
  happens('freeze')
  await clock.advance(1_000)
  expect(bodies(device)).toEqual(['of ann'])
  happens('resume')
  await clock.settle()
  await ann.queue.enqueue(ORDERS, postOf('of ann, later'))
  expect(await hitsAfter(LONG_MS)).toBe(1)
  end()
  await clock.advance(LONG_MS)
  expect([switched.state, server.hits]).toEqual(['resolved', 1])
  await ann.queue.setPrincipal('ann')
  await clock.advance(LONG_MS)
  expect(bodies(device)).toEqual(['of ann', 'of ann, later'])
})

test('S16 a login that the store could not be told of is told as soon as it can be', async () => {
  const device = browser()
  const { open, clock, server, hitsAfter } = device
  const [ann, tab] = [await open({ principal: 'ann' }), await open({ principal: 'ann' })]
  const { during, end } = login()
  device.isDown = true
  const switched = watch(tab.queue.setPrincipal('ben', { during }))
  await clock.advance(500)
  device.isDown = false
  await clock.advance(1_000)
  await ann.queue.enqueue(ORDERS, postOf('of ann'))
  expect(await hitsAfter(LONG_MS)).toBe(0)
  end(new Error('wrong password'))
  await clock.advance(1_000)
  expect([switched.state, server.hits]).toEqual(['rejected', 1])
})

test('S16 L1 where there are no locks a login holds other tabs up for as long as it lasts, and for 90 s where its tab dies', async () => {
  const device = Object.assign(browser(), { isLockless: true })
  const { tab } = await underWay(device)
  const ann = await device.open({ principal: 'ann' })
  await ann.queue.enqueue(ORDERS, postOf('of ann, later'))
  await device.clock.advance(10 * LONG_MS)
  expect(device.server.hits).toBe(0)
  tab.crash()
  await device.clock.advance(91_000)
  expect(bodies(device).toSorted()).toEqual(['of ann', 'of ann, later'])
})

test('explain() says that a login is waited for', async () => {
  const device = browser()
  const { bens, taskId, end } = await underWay(device)
  const waitsFor = async () => (await bens.queue.explain(taskId)).at(-1)
  expect(await waitsFor()).toMatchObject({ data: { gate: 'principal' }, text: expect.stringContaining('login') })
  end()
  await device.clock.advance(1_000)
  expect(await waitsFor()).not.toMatchObject({ text: expect.stringContaining('login') })
})

test('S16 a login in a tab whose core did not load is known in the others', async () => {
  page()
  const device = browser()
  const { clock, open, server, hitsAfter } = device
  const tab = await open({ principal: 'ann' })
  tab.queue.pause()
  await tab.queue.enqueue(ORDERS, postOf('of ann'))
  const bare = await open({ principal: 'ann' }, () => Promise.reject(new TypeError('Failed to fetch')))
  const { during, end } = login()
  const switched = watch(bare.queue.setPrincipal('ben', { during }))
  await clock.settle()
  tab.queue.resume()
  expect(await hitsAfter(1_000)).toBe(0)
  end()
  await clock.advance(LONG_MS)
  expect([switched.state, server.hits]).toEqual(['resolved', 0])
  const purged = watch(bare.queue.setPrincipal(null, { purge: true }))
  await clock.advance(LONG_MS)
  expect(purged.error).toMatchObject({ code: 'WASM_UNAVAILABLE' })
  const acts = [
    bare.queue.cancel('01a21ad3-5a0e-7000-9c0f-2f0a3b6f1c11'),
    bare.queue.clear(),
    bare.queue.deadLetters.purgeAll(),
  ]
  for (const act of acts) await expect(act).rejects.toMatchObject({ code: 'WASM_UNAVAILABLE' })
})

test('S16 a queue that is closed during a login lets that end, and says who is there', async () => {
  const device = browser()
  const { clock, open, server } = device
  const tab = await open({ principal: 'ann' })
  tab.queue.pause()
  await tab.queue.enqueue(ORDERS, postOf('of ann'))
  const other = await open({ principal: 'ann' })
  const { during, end } = login()
  const switched = watch(other.queue.setPrincipal('ben', { during }))
  await clock.settle()
  const closed = watch(other.queue.close())
  await clock.settle()
  tab.queue.resume()
  end()
  await clock.advance(LONG_MS)
  expect([switched.state, closed.state, server.hits]).toEqual(['resolved', 'resolved', 0])
})

test('a login that takes longer than the queue that is closed has drainMs for rejects', async () => {
  const { clock, open } = browser()
  const { queue } = await open({ principal: 'ann' })
  const { during, end } = login()
  const switched = watch(queue.setPrincipal('ben', { during }))
  await clock.settle()
  const closed = watch(queue.close({ drainMs: 1_000 }))
  await clock.advance(2_000)
  expect([switched.state, closed.state]).toEqual(['pending', 'resolved'])
  end()
  await clock.advance(1_000)
  expect(switched.error).toMatchObject({ code: 'QUEUE_CLOSED' })
})
