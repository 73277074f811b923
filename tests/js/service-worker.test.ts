/** The entry for service workers, run in Node: whose tasks it sends, and when it looks. */
import { expect, onTestFinished, test } from 'vitest'
import type { Hint, TaskStore } from '../../js/api/store.ts'
import * as pages from '../../js/index.ts'
import { internalsOf } from '../../js/queue/internals.ts'
import * as entry from '../../js/service-worker.ts'
import { withMethods, world } from './durable-setup.ts'
import { closeNow, deferred, ORDERS, watch } from './setup.ts'

/** A store that knows who is there, as that of browsers does, with a task each of `owners` in it. */
async function shared(owners: readonly (string | null)[] = [], given?: string) {
  const { clock, store, server, open, close } = world()
  for (const principal of owners) {
    const left = await open({ principal })
    server.reply(503, { 'retry-after': '1' })
    await left.queue.enqueue(ORDERS, { method: 'POST', body: `${principal}` })
    await clock.settle()
    await close(left)
  }
  let named: string | null | undefined = given
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
  const { clock, sent, worker } = await shared(['ann'], 'ann')
  const queue = worker()
  await clock.advance(60_000)
  expect(sent()).toEqual([])
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
})

test.for(['eager', 'idle'] as const)('with preload %s it opens by itself', async (preload) => {
  const { clock, sent, worker } = await shared(['ann'], 'ann')
  const degraded: string[] = []
  worker({ preload }).on('degraded', ({ message }) => degraded.push(message))
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
  expect(degraded).toEqual([])
})

test('S16 sends for whoever the pages have named, and for nobody while they have named none', async () => {
  const { clock, store, sent, worker, principals } = await shared(['ann', 'ben', null])
  await worker().ready
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
  const { clock, sent, worker, principals } = await shared(['ann'], 'ann')
  await principals.logIn()
  await worker().ready
  await clock.advance(60_000)
  expect(sent()).toEqual([])
  await principals.switchTo('ann')
  await clock.advance(1_000)
  expect(sent()).toEqual(['ann'])
})

test('S16 a switch that nobody has told is found by the next look', async () => {
  const { clock, server, sent, worker, switchUnheard } = await shared(['ann', 'ben'], 'ben')
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
    const { clock, server, store, sent, worker, principals } = await shared(['ann'])
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

const POST = { method: 'POST', body: 'own' }

test('S16 the first call of a worker is of the principal that the pages have named', async () => {
  const { clock, store, server, worker } = await shared([], 'ann')
  const { taskId } = await worker().enqueue(ORDERS, POST)
  expect(await store.get(taskId)).toMatchObject({ principal: 'ann' })
  await clock.advance(1_000)
  const { hits } = server
  server.reply(503).reply(200)
  const answer = watch(worker({ seed: 2n }).fetch(ORDERS, POST))
  await clock.advance(1_000)
  expect(answer.value?.status).toBe(200)
  expect(server.hits).toBe(hits + 2)
})

test('S16 a call after a switch that was not heard is of the one who is there', async () => {
  const { store, worker, switchUnheard } = await shared([], 'ann')
  const queue = worker()
  await queue.ready
  switchUnheard('ben')
  const { taskId } = await queue.enqueue(ORDERS, POST)
  expect(await store.get(taskId)).toMatchObject({ principal: 'ben' })
})

test('a call made before a page has named anybody is of null', async () => {
  const { clock, store, server, worker, principals, sent } = await shared()
  const { taskId } = await worker().enqueue(ORDERS, POST)
  expect(await store.get(taskId)).toMatchObject({ principal: null })
  await clock.advance(60_000)
  expect(server.hits).toBe(0)
  await principals.switchTo(null)
  await clock.advance(1_000)
  expect(sent()).toEqual(['own'])
})

test('a first call that is answered opens no core', async () => {
  const { worker } = await shared([], 'ann')
  const queue = worker()
  await queue.fetch(ORDERS, POST)
  const { host } = internalsOf(queue)
  expect(host.principal).toBe('ann')
  expect(host.forget).toBeUndefined()
})

test('while the store is asked whose a call is, its body is taken, and its caller may leave', async () => {
  const { clock, store, server, worker, principals } = await shared()
  const { promise: asked, resolve } = deferred<{ principal: string }>()
  const tell = () => resolve({ principal: 'ann' })
  principals.current = () => asked
  const queue = worker()
  const request = new Request(ORDERS, POST)
  const control = new AbortController()
  const { signal } = control
  const calls = [
    queue.fetch(request, { signal }),
    queue.enqueue(ORDERS, { ...POST, signal }),
    queue.fetch(ORDERS, { ...POST, redrive: { waitMs: 500 } }),
    queue.enqueue(ORDERS, { ...POST, redrive: { waitMs: 500 } }),
  ].map((call) => watch<unknown>(call))
  expect(request.bodyUsed).toBe(true)
  await clock.advance(100)
  expect(calls.map(({ state }) => state)).toEqual(Array(4).fill('pending'))
  control.abort(new Error('left'))
  await clock.settle()
  expect(calls.slice(0, 2)).toMatchObject(Array(2).fill({ state: 'rejected', error: { message: 'left' } }))
  await clock.advance(500)
  expect(calls.slice(2)).toMatchObject(Array(2).fill({ state: 'rejected', error: { code: 'WAIT_EXCEEDED' } }))
  tell()
  await clock.advance(1_000)
  expect(server.hits).toBe(0)
  expect(await store.counts()).toMatchObject({ pending: 0, inFlight: 0 })
})

test('a store that is blocked holds up no first attempt for long', async () => {
  const { clock, server, worker, principals } = await shared()
  principals.current = () => new Promise(() => {})
  const answer = watch(worker().fetch(ORDERS, POST))
  await clock.advance(2_000)
  expect([answer.value?.status, server.hits]).toEqual([200, 1])
})

test('S16 a call that was sent before it was known whose it is becomes a task of the one who is there', async () => {
  const { clock, store, server, worker, principals } = await shared()
  const { promise: asked, resolve } = deferred<{ principal: string }>()
  const tell = () => resolve({ principal: 'ann' })
  principals.current = () => asked
  server.reply(503)
  const answer = watch(worker().fetch(ORDERS, POST))
  await clock.advance(3_000)
  expect([answer.state, server.hits]).toEqual(['pending', 1])
  tell()
  await clock.settle()
  const { tasks } = await store.list({ limit: 2 })
  expect(tasks.map(({ principal }) => principal)).toEqual(['ann'])
})

test('never names anybody: that is for pages to do', async () => {
  const { clock, worker, principals } = await shared(['ann', 'ben'], 'ann')
  const queue = worker()
  await queue.ready
  await queue.setPrincipal('ben')
  await clock.advance(1_000)
  expect(await principals.current()).toEqual({ principal: 'ann' })
})

test('S16 given a principal, it sends that one’s tasks only', async () => {
  const { clock, sent, worker } = await shared(['ann', 'ben'], 'ann')
  await worker({ principal: 'ben' }).ready
  await clock.advance(1_000)
  expect(sent()).toEqual([])
})

test('with a principal of its own, or a store that knows of none, it is as in a page', async () => {
  const { clock, store, server, sent } = await shared([null])
  const queue = new entry.RetryQueue({ clock, fetch: server.fetch, store })
  onTestFinished(() => closeNow(queue, clock))
  await queue.ready
  await clock.advance(1_000)
  expect(sent()).toEqual(['null'])
})
