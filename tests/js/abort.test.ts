import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import type { ScriptedServer } from '../../js/testing.ts'
import { always, ORDERS, setup, watch } from './setup.ts'

const LEFT = new Error('the user left')
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

const CANCELLED = ['queued', 'retry', 'cancelled']
const IN_RETRY = ['queued', 'retry', 'attempt', 'cancelled']

test.each<[when: string, script: (server: ScriptedServer) => unknown, at: number, hits: number, events: string[]]>([
  ['before the call', () => {}, -1, 0, []],
  ['during attempt 1', (server) => server.hang(), 0, 1, []],
  ['S8 while its retry waits', (server) => server.reply(503), 500, 1, CANCELLED],
  ['during attempt 2', (server) => server.reply(503).hang(), 1_000, 2, IN_RETRY],
])('%s: rejected at once with the reason, nothing more is sent, no timer stays', async (_, script, at, hits, told) => {
  const { queue, server, clock, events, hitsAfter } = await setup()
  script(server)
  const controller = new AbortController()
  if (at < 0) controller.abort(LEFT)
  const answer = watch(queue.fetch(ORDERS, { signal: controller.signal }))
  await clock.advance(Math.max(at, 0))
  expect(answer.state).toBe(at < 0 ? 'rejected' : 'pending')
  controller.abort(LEFT)
  await clock.settle()
  expect(answer.error).toBe(LEFT)
  expect(clock.timers).toBe(0)
  // an attempt that is under way is aborted, too
  if (told !== CANCELLED) expect(server.requests.every(({ signal }) => signal.aborted)).toBe(true)
  expect(await hitsAfter(60_000)).toBe(hits)
  expect(events.names()).toEqual(told)
})

test('after success: nothing happens to the answer', async () => {
  const { queue, clock } = await setup({}, 503, [200, {}, 'done'])
  const controller = new AbortController()
  const answer = queue.fetch(ORDERS, { signal: controller.signal })
  await clock.advance(1_000)
  const response = await answer
  controller.abort(LEFT)
  expect(await response.text()).toBe('done')
})

test.each<[what: string, at: number]>([
  ['attempt 1', 0],
  ['the wait', 500],
  ['attempt 2', 1_000],
])('detach, during %s: the caller is let go at once, the task goes on', async (what, at) => {
  const { queue, server, clock } = await setup()
  const release = what === 'attempt 1' ? server.hang() : undefined
  if (!release) server.reply(503)
  const releaseSecond = what === 'attempt 2' ? server.hang() : undefined
  const controller = new AbortController()
  const answer = watch(queue.fetch(ORDERS, { signal: controller.signal, redrive: { detach: true } }))
  await clock.advance(at)
  controller.abort(LEFT)
  await clock.settle()
  expect(answer.error).toBe(LEFT)
  expect(server.requests.at(-1)?.signal.aborted).toBe(false)
  release?.(503)
  releaseSecond?.(200)
  await clock.advance(2_000)
  expect((await queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED', attemptNumber: 2 }])
})

test('in defer mode, after the 202: the task is not the signal’s any more', async () => {
  const { queue, clock } = await setup({}, 503)
  const controller = new AbortController()
  const init = { signal: controller.signal, redrive: { mode: 'defer' } } as const
  expect((await queue.fetch(ORDERS, init)).status).toBe(202)
  controller.abort(LEFT)
  await clock.advance(1_000)
  expect((await queue.list()).tasks).toMatchObject([{ status: 'SUCCEEDED' }])
})

test('the signal of a Request counts like that of init', async () => {
  const { queue, server, clock } = await setup()
  always(server, 503)
  const controller = new AbortController()
  const answer = watch(queue.fetch(new Request(ORDERS, { signal: controller.signal })))
  await clock.advance(500)
  controller.abort(LEFT)
  await clock.settle()
  expect(answer.error).toBe(LEFT)
})

test.each<[what: string, call: (signal: AbortSignal) => Parameters<typeof fetch>]>([
  ['a Request', (signal) => [new Request(ORDERS, { signal })]],
  ['a Request in place of an init', (signal) => [ORDERS, new Request(ORDERS, { signal })]],
])('the signal of %s is heard that only its call has any more', async (_, call) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const { queue, server, clock } = await setup()
  always(server, 503)
  const controller = new AbortController()
  const answer = watch(queue.fetch(...call(controller.signal)))
  await clock.advance(500)
  // of Node's Requests none holds the one that it was made of
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  controller.abort(LEFT)
  await clock.settle()
  expect(answer.error).toBe(LEFT)
})

test.each(['fetch', 'enqueue'] as const)(
  '%s of a form in a Request rejects nothing out of reach at an abort',
  async (method) => {
    const lost: unknown[] = []
    const hear = (error: unknown) => lost.push(error)
    process.on('unhandledRejection', hear)
    onTestFinished(() => void process.off('unhandledRejection', hear))
    const { queue, server } = await setup()
    const form = new FormData()
    form.set('file', new Blob(['x'.repeat(9)]), 'a.txt')
    const controller = new AbortController()
    const call = watch<unknown>(
      queue[method](new Request(ORDERS, { method: 'POST', body: form, signal: controller.signal })),
    )
    controller.abort(LEFT)
    // a part of a form that is a file is read from where it is
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(call.error).toBe(LEFT)
    expect(lost).toEqual([])
    expect(server.hits).toBe(0)
  },
)

test('no listener stays on a signal that outlives its calls', async () => {
  const { queue, server, clock } = await setup({ concurrency: 100 })
  const { signal } = new AbortController()
  const calls: Promise<unknown>[] = []
  for (let i = 0; i < 300; i++) {
    if (i % 3 === 1) server.reply(503)
    else if (i % 3 === 2) server.reply(404)
    else server.reply(200)
    const mode = i % 2 ? 'defer' : 'await'
    calls.push(queue.fetch(`${ORDERS}/${i}`, { signal, redrive: { mode, detach: i % 5 === 0 } }))
  }
  await clock.advance(60_000)
  await Promise.all(calls)
  expect(server.hits).toBeGreaterThan(300)
  expect(listeners(signal)).toBe(0)
})
