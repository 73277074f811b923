/** Signs in a page that an attempt may go well now: what waits for its own delay is tried then, and no sooner than its server asked. */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { ORDERS, watch } from './setup.ts'

const POST = { method: 'POST', body: 'tea' } as const
const LATER = {
  strategy: 'fixed',
  initialDelayMs: 300_000,
  maxDelayMs: 300_000,
  jitterType: 'NONE',
  policyId: 'later',
} as const
let page = new EventTarget()
let view = Object.assign(new EventTarget(), { visibilityState: 'visible', hidden: false })

beforeEach(() => {
  page = new EventTarget()
  view = Object.assign(new EventTarget(), { visibilityState: 'visible', hidden: false })
  vi.stubGlobal('location', new URL('https://shop.test/'))
  vi.stubGlobal('document', view)
  for (const target of [page, view]) target.addEventListener = refusingSignals
  vi.stubGlobal('addEventListener', refusingSignals.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  return () => vi.unstubAllGlobals()
})

/** As jsdom does it in a page that a test runner has put together: it knows no signal of Node's. */
function refusingSignals(this: EventTarget, ...[type, listener, options]: Parameters<EventTarget['addEventListener']>) {
  if (Object(options).signal) throw new TypeError("member 'signal' that is not of type 'AbortSignal'")
  EventTarget.prototype.addEventListener.call(this, type, listener, options)
}

/** Tabs of one page, with a server that they share. */
function tabs() {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const open = (options: RetryQueueOptions = {}) => {
    const queue = new RetryQueue({
      ...{ clock, fetch: server.fetch, seed: 1n, principal: null, warn: false, policy: LATER },
      idempotency: { origins: [new URL(ORDERS).origin] },
      ...options,
    })
    onTestFinished(() => queue.close({ drainMs: 0 }))
    return queue
  }
  return { clock, server, open }
}

/** What other tabs say comes in a turn of its own. */
const heard = () => new Promise((resolve) => setTimeout(resolve, 20))

test.each([
  ['the page gets the focus', () => page.dispatchEvent(new Event('focus')), 2],
  ['it comes into view', () => view.dispatchEvent(new Event('visibilitychange')), 2],
  ['the browser is online again', () => page.dispatchEvent(new Event('online')), 2],
  [
    'it is hidden',
    () =>
      view.dispatchEvent(Object.assign(new Event('visibilitychange'), { x: Object.assign(view, { hidden: true }) })),
    1,
  ],
  ['nothing happens', () => {}, 1],
])('an order that waits for minutes is tried when %s', async (_, happen, hits) => {
  const { clock, server, open } = tabs()
  const queue = open()
  server.reply(503)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(10_000)
  expect(server.hits).toBe(1)
  happen()
  await clock.advance(500)
  expect(server.hits).toBe(hits)
})

test('clicks in a row wake it every two seconds at most', async () => {
  const { clock, server, open } = tabs()
  const queue = open()
  for (let i = 0; i < 30; i++) server.reply(503)
  await queue.enqueue(ORDERS, POST)
  await clock.advance(10_000)
  for (let ms = 0; ms < 10_000; ms += 100) {
    page.dispatchEvent(new Event('focus'))
    await clock.advance(100)
  }
  expect(server.hits).toBeGreaterThan(2)
  expect(server.hits).toBeLessThanOrEqual(7)
})

test('S9 a sign does not bring an attempt forward that its server has put off', async () => {
  const { clock, server, open } = tabs()
  const queue = open()
  server.reply(503, { 'retry-after': '60' })
  await queue.enqueue(ORDERS, POST)
  await clock.advance(10_000)
  page.dispatchEvent(new Event('focus'))
  await clock.advance(500)
  expect(server.hits).toBe(1)
})

test.each([
  ['call', (tab: RetryQueue) => tab.fetch(`${ORDERS}/of-the-other`)],
  ['task', (tab: RetryQueue) => tab.enqueue(`${ORDERS}/of-the-other`, POST)],
] as const)(
  'an answer that another tab’s %s gets from the origin brings it forward, and one of another origin does not',
  async (_, give) => {
    const { clock, open } = tabs()
    let isBack = false
    let hits = 0
    const fetch = async (input: unknown) => {
      const isOther = String((input as Request).url ?? input).includes('other.test')
      if (!isOther) hits++
      return new Response(null, { status: isOther || isBack ? 200 : 503 })
    }
    // by itself it would look after ten minutes
    const waits = open({ fetch, breaker: { openMs: 1_200_000, maxOpenMs: 1_200_000 } })
    const calls = open({ fetch })
    await calls.ready
    for (let i = 0; i < 8; i++) await waits.enqueue(`${ORDERS}/${i}`, POST)
    await clock.advance(3_000)
    for (let i = 0; i < 40 && waits.stats().origins[new URL(ORDERS).origin]?.circuit !== 'OPEN'; i++) {
      watch(waits.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } }))
      await clock.advance(100)
    }
    await heard()
    isBack = true
    const before = hits
    await calls.fetch('https://other.test/')
    await heard()
    await clock.advance(10_000)
    expect([waits.stats().depth, hits]).toEqual([8, before])
    await give(calls)
    await clock.advance(1)
    expect(hits).toBeGreaterThan(before)
    await heard()
    for (let ms = 0; ms < 3_000; ms += 50) await clock.advance(50)
    expect(waits.stats().depth).toBe(0)
  },
)

test('a queue whose circuit opens while it closes comes to its end, and stops no core', async () => {
  const { clock, server, open } = tabs()
  const queue = open({ concurrency: 40, concurrencyPerOrigin: 40 })
  const degraded: string[] = []
  queue.on('degraded', ({ code }) => degraded.push(code))
  const ends = Array.from({ length: 40 }, () => server.hang())
  for (let i = 0; i < ends.length; i++) await queue.enqueue(`${ORDERS}/${i}`, POST)
  await clock.advance(3_000)
  expect(server.hits).toBe(40)
  const opened = new Promise((resolve) => queue.on('circuit', resolve))
  const closed = queue.close()
  for (const end of ends) end(503)
  await clock.advance(10_000)
  await closed
  expect(await opened).toMatchObject({ to: 'OPEN' })
  expect(degraded).toEqual([])
})

test('a page that is put away keeps no channel open, and has one again when it is back', async () => {
  const opened: string[] = []
  const closed: string[] = []
  class Channel {
    readonly name: string
    onmessage = null
    constructor(name: string) {
      this.name = name
      opened.push(name)
    }
    postMessage() {}
    close() {
      closed.push(this.name)
    }
  }
  vi.stubGlobal('BroadcastChannel', Channel)
  const queue = tabs().open()
  await queue.ready
  const open = () => opened.length - closed.length
  expect(open()).toBe(1)
  for (const [away, back] of [
    [() => page.dispatchEvent(new Event('pagehide')), () => page.dispatchEvent(new Event('pageshow'))],
    [() => view.dispatchEvent(new Event('freeze')), () => view.dispatchEvent(new Event('resume'))],
  ] as const) {
    away()
    expect(open()).toBe(0)
    back()
    expect(open()).toBe(1)
  }
  await queue.close({ drainMs: 0 })
  expect(open()).toBe(0)
})
