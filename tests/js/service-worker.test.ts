/** The entry for service workers, run in Node: whose tasks it sends, and when it looks. */
import { expect, onTestFinished, test } from 'vitest'
import type { Hint, TaskStore } from '../../js/api/store.ts'
import * as pages from '../../js/index.ts'
import * as entry from '../../js/service-worker.ts'
import { withMethods, world } from './durable-setup.ts'
import { closeNow, ORDERS, watch } from './setup.ts'

/** A store that knows who is there, as that of browsers does, with a task each of `owners` in it. */
async function shared(...owners: readonly (string | null)[]) {
  const { clock, store, server, open, close } = world()
  for (const principal of owners) {
    const left = await open({ principal })
    server.reply(503, { 'retry-after': '1' })
    await left.queue.enqueue(ORDERS, { method: 'POST', body: `${principal}` })
    await clock.settle()
    await close(left)
  }
  let named: string | null | undefined
  let isLogin = false
  const hears = new Set<(hint: Hint) => void>()
  const principals = {
    current: async () => ({ principal: named, ...(isLogin && { loginForMs: Infinity }) }),
    switchTo: async (principal: string | null) => {
      named = principal
      isLogin = false
      for (const hear of hears) hear({ kind: 'principal' })
    },
    logIn: async () => {
      isLogin = true
      for (const hear of hears) hear({ kind: 'principal' })
    },
  }
  /** Of switches alone: what else is done is not heard. */
  const subscribe = (hear: (hint: Hint) => void) => {
    hears.add(hear)
    return () => hears.delete(hear)
  }
  const turn: TaskStore['turn'] = async (step) => {
    await new Promise(setImmediate) // no database answers at once
    if (!isLogin && (named === undefined || step.claim?.principal === named)) return store.turn(step)
    return { ...(await store.turn({ ...step, claim: null })), nextInMs: null }
  }
  const from = server.hits
  const sent = () => server.requests.slice(from).map(({ body }) => body)
  const worker = (options: pages.RetryQueueOptions = {}) => {
    const known = withMethods(store, { principals, subscribe, turn })
    const queue = new entry.RetryQueue({ clock, fetch: server.fetch, store: known, seed: 1n, ...options })
    onTestFinished(() => closeNow(queue, clock))
    return queue
  }
  const switchUnheard = (principal: string) => {
    named = principal
  }
  // past the hold that the answers above have asked for
  await clock.advance(5_000)
  return { clock, store, server, sent, worker, principals, switchUnheard, hears }
}

test('exports what the entry of pages exports, and background sync', () => {
  expect(Object.keys(entry).sort()).toEqual([...Object.keys(pages), 'registerBackgroundSync'].sort())
})

test('looks into no store until it is asked to', async () => {
  const { clock, sent, worker, principals } = await shared('ann')
  await principals.switchTo('ann')
  const queue = worker()
  await clock.advance(60_000)
  expect(sent()).toEqual([])
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
})

test.for(['eager', 'idle'] as const)('with preload %s it opens by itself', async (preload) => {
  const { clock, sent, worker, principals } = await shared('ann')
  await principals.switchTo('ann')
  const degraded: string[] = []
  worker({ preload }).on('degraded', ({ message }) => degraded.push(message))
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
  expect(degraded).toEqual([])
})

test('S16 sends for whoever the pages have named, and for nobody while they have named none', async () => {
  const { clock, store, sent, worker, principals } = await shared('ann', 'ben', null)
  const queue = worker()
  await queue.ready
  await clock.advance(60_000)
  expect(sent()).toEqual([])
  await principals.switchTo('ben')
  await clock.advance(1_000)
  expect(sent()).toEqual(['ben'])
  await principals.switchTo(null)
  await clock.advance(1_000)
  expect(sent()).toEqual(['ben', 'null'])
  expect(await store.counts()).toMatchObject({ pending: 1, succeeded: 2 })
})

test('S16 sends nothing while a page logs one in', async () => {
  const { clock, sent, worker, principals } = await shared('ann')
  await principals.switchTo('ann')
  await principals.logIn()
  await worker().ready
  await clock.advance(60_000)
  expect(sent()).toEqual([])
  await principals.switchTo('ann')
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
})

test('S16 a switch that nobody has told is found by the next look', async () => {
  const { clock, server, sent, worker, principals, switchUnheard } = await shared('ann', 'ben')
  await principals.switchTo('ben')
  const queue = worker()
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual(['ben'])
  switchUnheard('ann')
  await clock.advance(60_000)
  expect(sent()).toEqual(['ben'])
  const answer = server.hang()
  await queue.ready
  const idle = watch(queue.idle())
  await clock.settle()
  expect(idle.state).toBe('pending')
  answer(200)
  await clock.settle()
  expect(sent()).toEqual(['ben', 'ann'])
  expect(idle.state).toBe('resolved')
})

test.for([undefined, 'ann'])(
  'what is stored unheard is found by the next look, with principal %s',
  async (principal) => {
    const { clock, server, store, sent, worker, principals } = await shared('ann')
    await principals.switchTo('ann')
    const queue = worker(principal === undefined ? {} : { principal })
    await queue.ready
    await clock.advance(1_000)
    expect(sent()).toEqual(['ann'])
    const page = new pages.RetryQueue({ clock, fetch: server.fetch, store, principal: 'ann' })
    onTestFinished(() => closeNow(page, clock))
    page.pause()
    await page.enqueue(ORDERS, { method: 'POST', body: 'unheard' })
    const answer = server.hang()
    await queue.ready
    const idle = watch(queue.idle())
    await clock.settle()
    expect(idle.state).toBe('pending')
    answer(200)
    await clock.settle()
    expect(idle.state).toBe('resolved')
    expect(sent()).toEqual(['ann', 'unheard'])
  },
)

test('never names anybody: that is for pages to do', async () => {
  const { clock, worker, principals } = await shared('ann', 'ben')
  await principals.switchTo('ann')
  const queue = worker()
  await queue.ready
  await queue.setPrincipal('ben')
  await clock.advance(1_000)
  expect(await principals.current()).toEqual({ principal: 'ann' })
})

test('S16 given a principal, it sends that one’s tasks only', async () => {
  const { clock, sent, worker, principals } = await shared('ann', 'ben')
  await principals.switchTo('ann')
  const queue = worker({ principal: 'ben' })
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual([])
})

test('with a principal of its own, or a store that knows of none, it is as in a page', async () => {
  const { clock, store, server, sent } = await shared(null)
  const queue = new entry.RetryQueue({ clock, fetch: server.fetch, store })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual(['null'])
})
