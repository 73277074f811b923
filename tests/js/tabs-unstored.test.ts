/** S16 for tabs whose store cannot be had: they hear of other tabs' users, and are heard. */

import { expect, test } from 'vitest'
import { DAY_MS, LONG_MS } from './principals-setup.ts'
import { login, ORDERS, watch } from './setup.ts'
import { type Browser, browser, openLate, page, type Tab } from './tabs-setup.ts'

const POST = { method: 'POST', body: 'of ann', redrive: { allowMemory: true } } as const

/** A task of ann's in the memory of a tab that has no store; its second attempt is due in a second. */
async function unstored({ open, server, clock }: Browser): Promise<Tab> {
  const ann = await open({ principal: 'ann', isCut: true })
  server.reply(503)
  expect(await ann.queue.enqueue(ORDERS, POST)).toMatchObject({ durability: 'memory' })
  await clock.settle()
  expect(server.hits).toBe(1)
  return ann
}

function pages(): Browser {
  page()
  return browser()
}

test('S16 a tab without its store sends nothing of ann’s from when ben is named in another tab until she is again', async () => {
  const device = pages()
  const { open, clock, hitsAfter } = device
  const other = await open({ principal: 'ann' })
  await clock.advance(10)
  await unstored(device)
  await other.queue.setPrincipal('ben')
  expect(await hitsAfter(LONG_MS)).toBe(1)
  await other.queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(2)
})

test('S16 a page that is opened for ben holds back what a tab without its store has of ann’s, until she is named there', async () => {
  const device = pages()
  const { open, clock, server, hitsAfter } = device
  const ann = await unstored(device)
  await clock.advance(10)
  await open({ principal: 'ben', isCut: true })
  const later = watch(ann.queue.enqueue(ORDERS, POST))
  await clock.advance(LONG_MS)
  expect([later.state, server.hits]).toEqual(['resolved', 1])
  await ann.queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(3)
})

test('a page that is opened for ann holds nothing of hers back', async () => {
  const device = pages()
  const { open, clock, hitsAfter } = device
  await unstored(device)
  await clock.advance(10)
  await open({ principal: 'ann' })
  expect(await hitsAfter(LONG_MS)).toBe(2)
})

test('S16 a tab that was slow to load its core hears from others who was named meanwhile', async () => {
  const device = pages()
  const { open, hitsAfter } = device
  const { opening, arrive } = await openLate(device, { principal: 'ann', isCut: true })
  await open({ principal: 'ben', isCut: true })
  arrive()
  const ann = await opening
  await ann.queue.enqueue(ORDERS, POST)
  expect(await hitsAfter(LONG_MS)).toBe(0)
})

test.each([true, false])(
  'S16 a tab whose store cannot be told of ben is heard by ann’s, whose store answers or does not: %s',
  async (answers) => {
    const device = pages()
    const { open, clock, server, hitsAfter } = device
    const ann = await open({ principal: 'ann' })
    const ben = await open({ principal: 'ann' })
    server.reply(503).reply(503)
    void ann.queue.fetch(ORDERS, { redrive: { waitMs: DAY_MS } }).catch(() => {})
    await ann.queue.enqueue(ORDERS, POST)
    await clock.advance(100)
    ben.isCut = true
    ann.isCut = !answers
    const hits = server.hits
    await expect(ben.queue.setPrincipal('ben')).rejects.toThrow('disk')
    expect(await hitsAfter(LONG_MS)).toBe(hits)
    ben.isCut = false
    ann.isCut = false
    await ben.queue.setPrincipal('ann')
    expect(await hitsAfter(2 * LONG_MS)).toBe(hits + 2)
  },
)

test('S16 what was heard while the store was away counts once it is there, and a younger word in it stands', async () => {
  const device = pages()
  const { open, clock, server, hitsAfter } = device
  const ann = await unstored(device)
  const ben = await open({ principal: 'ben', isCut: true })
  ann.isCut = false
  await clock.advance(LONG_MS)
  expect(ann.calls).toContain('turn')
  expect(server.hits).toBe(1)
  await ben.queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(2)
})

test.each([true, false])(
  'S16 nothing is sent while ben logs in in a tab without its store, this one has its: %s',
  async (has) => {
    const device = pages()
    const { open, clock, server, hitsAfter } = device
    const ben = await open({ principal: null, isCut: true })
    await clock.advance(10)
    const ann = await open({ principal: 'ann', isCut: !has })
    server.reply(503)
    await ann.queue.enqueue(ORDERS, POST)
    await clock.settle()
    const { during, end } = login()
    const switched = watch(ben.queue.setPrincipal('ben', { during }))
    expect(await hitsAfter(LONG_MS)).toBe(1)
    end(new Error('wrong password'))
    await clock.advance(LONG_MS)
    expect(switched.error).toMatchObject({ message: 'wrong password' })
    expect(server.hits).toBe(2)
  },
)

test('S16 what waits in memory waits while its page is put away, and hears then what it has missed', async () => {
  const { open, clock, server, hitsAfter } = browser()
  const { happens } = page()
  const ann = await open({ principal: 'ann', isCut: true })
  server.reply(503)
  await ann.queue.enqueue(ORDERS, POST)
  await clock.settle()
  happens('freeze')
  page()
  await clock.advance(10)
  const ben = await open({ principal: 'ben', isCut: true })
  await clock.advance(LONG_MS)
  happens('resume')
  expect(await hitsAfter(LONG_MS)).toBe(1)
  await ben.queue.setPrincipal('ann')
  expect(await hitsAfter(LONG_MS)).toBe(2)
})
