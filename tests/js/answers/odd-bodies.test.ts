/** Answers of a `fetch` of the user's own, whose bodies are of any kind: none of them may hold anything up. */

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { ORDERS, setup, watch } from '../setup.ts'

type Source = UnderlyingDefaultSource<Uint8Array>

const streamed = (source: Source) => new Response(new ReadableStream(source), { status: 503 })
const never = () => new Promise<void>(() => {})

/** A response whose body is read, locked or of another kind, as some libraries give it. */
function odd(change: (response: Response) => void, body: BodyInit = 'busy'): Response {
  const response = new Response(body, { status: 503 })
  change(response)
  return response
}

const BODIES: Record<string, () => Response> = {
  'none at all': () => new Response(null, { status: 503 }),
  'one that is read already': () => odd((response) => void response.text()),
  'one that is locked': () => odd((response) => void response.body?.getReader()),
  'one of Node, as node-fetch gives it': () =>
    odd((response) => Object.defineProperty(response, 'body', { value: new PassThrough() })),
  'undefined, as React Native gives it': () =>
    odd((response) => Object.defineProperty(response, 'body', { value: undefined })),
  'one that cannot be cloned': () =>
    odd((response) => {
      response.clone = () => {
        throw new TypeError('no')
      }
    }),
  'one that never answers, not even to cancel()': () => streamed({ pull: never, cancel: never }),
  'one that refuses cancel()': () => streamed({ pull: never, cancel: () => Promise.reject(new Error('no')) }),
  'one that throws at cancel()': () =>
    streamed({
      pull: never,
      cancel: () => {
        throw new Error('no')
      },
    }),
  'one that breaks off': () =>
    streamed({
      pull: () => {
        throw new Error('reset')
      },
    }),
  'empty chunks without end': () => streamed({ pull: (to) => to.enqueue(new Uint8Array()) }),
  'chunks that are no bytes': () => streamed({ pull: (to) => to.enqueue('text' as never) }),
  'bytes without end': () => streamed({ pull: (to) => to.enqueue(new Uint8Array(8_192)) }),
}

async function setupWith(make: () => Response, times = 1) {
  let calls = 0
  const fetch = async () => (calls++ < times ? make() : new Response('good'))
  return { ...(await setup({ fetch, policy: { maxAttempts: 4 } })), calls: () => calls }
}

test.each(Object.entries(BODIES))('S18 S22 a call goes on after an answer whose body is %s', async (_, make) => {
  const { queue, clock, calls } = await setupWith(make, 2)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(1_000 + 2_000 + 500)
  expect(calls()).toBe(3)
  expect(await call.value?.text()).toBe('good')
})

test.each(Object.entries(BODIES))(
  'L1 a task without a caller ends after an answer whose body is %s',
  async (_, make) => {
    const { queue, clock } = await setupWith(make, 2)
    const { taskId } = await queue.enqueue(ORDERS)
    await clock.advance(1_000 + 2_000 + 1_000)
    expect((await queue.get(taskId))?.status).toBe('SUCCEEDED')
    expect(clock.timers).toBe(0)
  },
)

test.each(Object.entries(BODIES))('a caller may leave after an answer whose body is %s', async (_, make) => {
  const { queue, clock } = await setupWith(make, 2)
  const leaving = new AbortController()
  const call = watch(queue.fetch(ORDERS, { signal: leaving.signal }))
  await clock.advance(0)
  leaving.abort(new Error('left'))
  await clock.advance(500)
  expect(call.error).toEqual(new Error('left'))
})

test.each(Object.entries(BODIES))('an answer may come too late whose body is %s', async (_, make) => {
  let answer = (_: Response) => {}
  const { queue, clock } = await setup({ fetch: () => new Promise<Response>((give) => (answer = give)) })
  const leaving = new AbortController()
  const call = watch(queue.fetch(ORDERS, { signal: leaving.signal }))
  await clock.advance(0)
  leaving.abort(new Error('left'))
  await clock.advance(0)
  answer(make())
  await clock.advance(500)
  expect(call.error).toEqual(new Error('left'))
})

test.each(Object.entries(BODIES))('L5 close ends while an answer is read whose body is %s', async (_, make) => {
  const { queue, clock } = await setupWith(make, 9)
  await queue.enqueue(ORDERS)
  const call = watch(queue.fetch(`${ORDERS}/2`))
  await clock.settle()
  const closed = watch(queue.close())
  await clock.advance(1)
  expect(closed.state).toBe('resolved')
  expect(call.value?.status).toBe(503)
})

test('S22 the last answer of a call that is given up is its own, unread, whatever its length', async () => {
  const { queue, clock } = await setupWith(() => new Response('x'.repeat(1_000_000), { status: 503 }), 9)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(60_000)
  expect(call.value?.bodyUsed).toBe(false)
  expect(await call.value?.text()).toHaveLength(1_000_000)
})

test('S22 an answer of up to 64 KiB is kept for a caller who waits longer than its retries take', async () => {
  const { queue, clock } = await setupWith(() => new Response('x'.repeat(65_536), { status: 503 }), 9)
  const call = watch(queue.fetch(ORDERS, { redrive: { waitMs: 4_000 } }))
  await clock.advance(10_000)
  expect(call.value?.bodyUsed).toBe(false)
  expect(await call.value?.text()).toHaveLength(65_536)
})

test('S22 of a longer one status and headers are kept, and its body says what became of it', async () => {
  const make = () => new Response('x'.repeat(1_000_000), { status: 503, headers: { 'x-node': 'a' } })
  const { queue, clock } = await setupWith(make, 9)
  const call = watch(queue.fetch(ORDERS))
  await clock.advance(500)
  await queue.close()
  await clock.settle()
  expect(call.value?.status).toBe(503)
  expect(call.value?.headers.get('x-node')).toBe('a')
  await expect(call.value?.text()).rejects.toMatchObject({ code: 'BODY_DROPPED' })
})

test.each([
  ['of a call that is given up', [503]],
  ['of a success that a listener hears of', [503, 200]],
])('S22 an abort rejects nothing out of reach while the body is unread %s', async (_, statuses) => {
  const lost: unknown[] = []
  // as Node 22 ends an answer: an error of which that is not the code ends the process
  const fetch: typeof globalThis.fetch = async (_, init) => {
    let source: ReadableByteStreamController | undefined
    const start = (to: ReadableByteStreamController) => {
      source = to
      to.enqueue(new Uint8Array(9))
    }
    const response = new Response(new ReadableStream({ type: 'bytes', start }), { status: statuses.shift() ?? 503 })
    init?.signal?.addEventListener('abort', ({ target }) => {
      const { reason } = target as AbortSignal
      source?.error(reason)
      response.body?.cancel(reason).catch((error) => error.code === 'ERR_INVALID_STATE' || lost.push(error))
    })
    return response
  }
  const { queue, clock } = await setup({ fetch, policy: { maxAttempts: 2 } })
  const leaving = new AbortController()
  const call = watch(queue.fetch(ORDERS, { signal: leaving.signal }))
  await clock.advance(5_000)
  leaving.abort(new Error('left'))
  await clock.settle()
  expect(lost).toEqual([])
  await expect(call.value?.text()).rejects.toThrow('left')
})

test('an attempt is in flight until its answer is read or let go of', async () => {
  const { queue, clock, calls } = await setupWith(BODIES['one that never answers, not even to cancel()'] as never, 9)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(249)
  expect((await queue.get(taskId))?.status).toBe('IN_FLIGHT')
  await clock.advance(1)
  expect((await queue.get(taskId))?.status).toBe('PENDING')
  await clock.advance(999)
  expect(calls()).toBe(1)
  await clock.advance(1)
  expect(calls()).toBe(2)
})

test('a listener has the body of a success if it begins to read at once, and holds no connection otherwise', async () => {
  let cancelled = 0
  const make = () =>
    new Response(
      new ReadableStream({
        pull: (to) => to.enqueue(new Uint8Array(8_192)),
        cancel: () => {
          cancelled++
        },
      }),
    )
  const { queue, clock } = await setupWith(make, 9)
  await queue.enqueue(ORDERS)
  await clock.advance(300)
  expect(cancelled).toBe(1)
  let first: Promise<ReadableStreamReadResult<Uint8Array>> | undefined
  queue.on('succeeded', ({ response }) => {
    first = response?.body?.getReader().read()
  })
  await queue.enqueue(`${ORDERS}/2`)
  await clock.advance(300)
  expect((await first)?.value).toHaveLength(8_192)
})
