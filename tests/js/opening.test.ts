/** When the store of a durable queue is opened, and what is told to what opens it: the entry alone, on a desk of paper. */

import { expect, onTestFinished, test, vi } from 'vitest'
import type { Call } from '../../js/call/call.ts'
import type { RetryQueueOptions, TaskStore } from '../../js/index.ts'
import { CHECKS } from '../../js/options/checks.ts'
import type { EngineSource } from '../../js/queue/core-loader.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import type { TaskManager } from '../../js/runner/manager.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { closeNow, ORDERS, stub, watch } from './setup.ts'

const nobody = () => Promise.reject(new Error('the entry asked its store by itself'))
/** What the entry takes for a store: it never speaks to it. */
const store = { turn: nobody, enqueue: nobody } as unknown as TaskStore

function setup(options: RetryQueueOptions = {}, begin: () => Promise<void> = async () => {}) {
  const clock = fakeClock()
  const server = scriptedServer({ clock })
  const told: string[] = []
  const principals: (string | null)[] = []
  let loads = 0
  const reachable = { now: true }
  const source: EngineSource = async () => {
    loads++
    if (!reachable.now) throw new TypeError('Failed to fetch dynamically imported module')
    return {
      signedFirst: async () => new Headers(),
      CHECKS,
      prepare: async () => (host) => {
        const manager = {
          runner: { stopped: false, depth: 0, pause: () => told.push('pause') },
          admission: {
            beforeSending(call: Call) {
              told.push('before')
              principals.push(call.principal)
            },
            sentOnce: (_call: Call, { status }: { status: number }) => told.push(`heard ${status}`),
          },
          begin() {
            told.push('begin')
            return begin()
          },
          async list() {
            told.push('list')
            return { tasks: [] }
          },
          async setPrincipal(before: string | null, principal: string | null, purge: boolean) {
            told.push(`principal ${before} to ${principal} ${purge}, now ${host.principal}`)
          },
          async close(drainMs: number) {
            told.push(`close ${drainMs}`)
          },
        }
        return manager as unknown as TaskManager
      },
    }
  }
  const queue = new RetryQueue({ clock, fetch: server.fetch, ...options }, source)
  onTestFinished(() => closeNow(queue, clock))
  return { queue, clock, server, told, principals, reachable, loads: () => loads }
}

test('a durable queue opens its store by itself, soon after its construction and not in it', async () => {
  const { clock, told, loads } = setup({ store })
  expect(loads()).toBe(0)
  await clock.settle()
  expect(loads()).toBe(0)
  await clock.advance(0)
  expect(told).toEqual(['begin'])
})

test.each<[what: string, options: RetryQueueOptions]>([
  ['in memory', {}],
  ['in memory, by name', { durable: false, store }],
  ['in memory, of a principal', { principal: 'anna' }],
  ['durable, with preload never', { store, preload: 'never' }],
])('a queue %s opens nothing unasked', async (_what, options) => {
  const { clock, loads } = setup(options)
  await clock.advance(60_000)
  expect([loads(), clock.timers]).toEqual([0, 0])
})

test('eager fetches the chunk of a durable queue at once and opens the store after', async () => {
  const { clock, told, loads } = setup({ store, preload: 'eager' })
  expect(loads()).toBe(1)
  await clock.settle()
  expect(told).toEqual([])
  await clock.advance(0)
  expect(told).toEqual(['begin'])
})

test('on a page the store is opened when the page is idle', async () => {
  let idle: () => void = () => {}
  vi.stubGlobal('location', new URL('https://app.test/'))
  vi.stubGlobal('requestIdleCallback', (work: () => void) => {
    idle = work
    return 1
  })
  stub({ cancelIdleCallback: () => {} })
  const { clock, told } = setup({ store, principal: null })
  await clock.advance(60_000)
  expect(told).toEqual([])
  idle()
  await clock.settle()
  expect(told).toEqual(['begin'])
})

test('a queue that is closed before is not opened', async () => {
  const { queue, clock, told, loads } = setup({ store })
  await queue.close()
  await clock.advance(60_000)
  expect([told, loads(), clock.timers]).toEqual([[], 0, 0])
})

test('a question to a durable queue opens its store, to one in memory nothing', async () => {
  const durable = setup({ store, preload: 'never' })
  await durable.queue.list()
  expect(durable.told).toEqual(['begin', 'list'])
  const memory = setup()
  expect(await memory.queue.list()).toEqual({ tasks: [] })
  expect(memory.loads()).toBe(0)
})

test('everybody waits until earlier tasks are taken up; what was paused before is paused by then', async () => {
  let begun = () => {}
  const { queue, clock, told } = setup({ store }, () => new Promise((resolve) => (begun = resolve)))
  queue.pause()
  const ready = watch(queue.ready)
  const listed = watch(queue.list())
  await clock.settle()
  expect([ready.state, listed.state, told]).toEqual(['pending', 'pending', ['pause', 'begin']])
  begun()
  await clock.settle()
  expect([ready.state, listed.state, told]).toEqual(['resolved', 'resolved', ['pause', 'begin', 'list']])
})

test('L5 close does not wait for a store that never opens, and gives the desk its drainMs', async () => {
  const { queue, clock, told } = setup({ store }, () => new Promise(() => {}))
  const listed = watch(queue.list())
  await clock.settle()
  const closed = watch(queue.close({ drainMs: 7 }))
  await clock.settle()
  expect([closed.state, told]).toEqual(['resolved', ['begin', 'close 7']])
  expect(listed.error).toMatchObject({ code: 'QUEUE_CLOSED' })
})

test('setPrincipal holds for calls made right after it, and is told to the desk', async () => {
  const { queue, told, principals } = setup({ principal: 'anna' })
  await queue.ready
  const answers = [queue.fetch(ORDERS)]
  const set = queue.setPrincipal('otto', { purge: true })
  answers.push(queue.fetch(ORDERS))
  await Promise.all(answers)
  await set
  await queue.setPrincipal(null)
  expect(principals).toEqual(['anna', 'otto'])
  expect(told.filter((what) => what.startsWith('principal'))).toEqual([
    'principal anna to otto true, now otto',
    'principal otto to null false, now null',
  ])
})

test('S16 a call has the principal it was made under, and is not sent where another is here when its body has been read', async () => {
  const { queue, server, principals } = setup({ principal: 'anna' })
  await queue.ready
  const answer = queue.fetch(ORDERS, { method: 'POST', body: new Blob(['two apples']) })
  const refused = expect(answer).rejects.toMatchObject({ code: 'PRINCIPAL_CHANGED' })
  await queue.setPrincipal('otto')
  await refused
  expect(principals).toEqual(['anna'])
  expect(server.hits).toBe(0)
})

test('setPrincipal of a queue in memory that has no task starts nothing; of a durable one it opens the store', async () => {
  const memory = setup()
  await memory.queue.setPrincipal('anna')
  expect(memory.loads()).toBe(0)
  const durable = setup({ store, preload: 'never' })
  await durable.queue.setPrincipal('anna')
  expect(durable.told).toEqual(['begin', 'principal null to anna false, now anna'])
})

test.each<[persist: 'on-failure' | 'before-send', told: string[]]>([
  ['on-failure', []],
  ['before-send', ['begin', 'before', 'heard 200']],
])('a first attempt of a durable queue with persist %s', async (persist, expected) => {
  const { queue, told } = setup({ store, persist, preload: 'never' })
  expect((await queue.fetch(ORDERS)).status).toBe(200)
  expect(told).toEqual(expected)
})

test('before-send asks for nothing where tasks are in memory', async () => {
  const { queue, loads } = setup({ persist: 'before-send' })
  await queue.fetch(ORDERS)
  expect(loads()).toBe(0)
})

test('an abort while the store is opened for a first attempt rejects at once, and nothing is sent', async () => {
  const { queue, server, clock } = setup({ store, persist: 'before-send' }, () => new Promise(() => {}))
  const controller = new AbortController()
  const answer = watch(queue.fetch(ORDERS, { signal: controller.signal }))
  await clock.settle()
  const left = new Error('left')
  controller.abort(left)
  await clock.settle()
  expect([answer.error, server.hits]).toEqual([left, 0])
})

test('an open core hears of every first attempt that ends without a task', async () => {
  const { queue, server, told } = setup()
  await queue.ready
  const lost = new TypeError('fetch failed')
  server.reply(200).reply(404).fail(lost)
  await queue.fetch(ORDERS)
  await queue.fetch(ORDERS)
  await expect(queue.fetch(ORDERS, { redrive: { policy: { maxAttempts: 1 } } })).rejects.toBe(lost)
  expect(told).toEqual(['begin', 'before', 'heard 200', 'before', 'heard 404', 'before', 'heard 0'])
})
