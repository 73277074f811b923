import { expect, test } from 'vitest'
import type { TaskOptions } from '../../js/index.ts'
import { gaps, ORDERS, setup, watch } from './setup.ts'

const CHUNK = 1_000
const MOST = 10 * CHUNK

/** A stream of so many parts, which counts how many were asked for and hears that it was cancelled. Infinity: it never ends. */
function counted(parts: number) {
  const seen = { pulled: 0, cancelled: undefined as unknown }
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.pulled === parts) controller.close()
        else controller.enqueue(new Uint8Array(CHUNK).fill(seen.pulled++ % 256))
      },
      cancel(reason) {
        seen.cancelled = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, stream }
}

const streaming = (stream: ReadableStream, init: RequestInit = {}) =>
  new Request(ORDERS, { method: 'POST', body: stream, duplex: 'half', ...init } as RequestInit)

/** A queue whose server reads all that it is sent, and fails. */
async function setupReading() {
  const sent: { readonly bytes: Uint8Array; readonly headers: Headers; readonly isRequest: boolean }[] = []
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const isRequest = input instanceof Request
    const request = new Request(input, init)
    const bytes = new Uint8Array(await request.arrayBuffer())
    sent.push({ bytes, headers: request.headers, isRequest })
    return new Response(null, { status: 503 })
  }
  return { ...(await setup({ fetch, maxBodyBytes: MOST })), sent }
}

test('a Request with a stream over maxBodyBytes is passed on as it comes, once, and degraded says so', async () => {
  const { queue, clock, events, sent } = await setupReading()
  const { seen, stream } = counted(25)
  const answer = queue.fetch(streaming(stream, { headers: { 'x-own': 'a' } }))
  await clock.advance(60_000)
  expect((await answer).status).toBe(503)
  expect(sent).toHaveLength(1)
  expect(seen.pulled).toBe(25)
  expect(sent[0]?.bytes).toEqual(Uint8Array.from({ length: 25 * CHUNK }, (_, i) => Math.floor(i / CHUNK)))
  expect(sent[0]?.headers.get('x-own')).toBe('a')
  expect(sent[0]?.headers.get('idempotency-key')).toMatch(/^[\da-f-]{36}$/)
  expect(events.of('degraded')).toMatchObject([
    { code: 'body_too_large', message: expect.stringContaining('maxBodyBytes 10000') },
  ])
})

test('no more of a stream is read than maxBodyBytes before it is sent', async () => {
  let pulled = -1
  const { seen, stream } = counted(Number.POSITIVE_INFINITY)
  const fetch = async (input: RequestInfo | URL) => {
    pulled = seen.pulled
    await (input as Request).body?.cancel()
    return new Response()
  }
  const { queue } = await setup({ fetch, maxBodyBytes: MOST })
  await queue.fetch(streaming(stream))
  expect(pulled).toBeGreaterThan(10)
  expect(pulled).toBeLessThan(15)
  await expect.poll(() => seen.cancelled !== undefined || seen.pulled < 20).toBe(true)
})

test('a Request with a stream of exactly maxBodyBytes is tried again', async () => {
  const { queue, clock, sent, events } = await setupReading()
  const answer = queue.fetch(streaming(counted(10).stream))
  await expect.poll(() => sent.length).toBe(1)
  await clock.advance(60_000)
  await answer
  expect(sent).toHaveLength(5)
  expect(sent.map(({ bytes }) => bytes.byteLength)).toEqual([MOST, MOST, MOST, MOST, MOST])
  expect(events.of('degraded')).toEqual([])
})

test('a Request whose body is over maxBodyBytes and no stream is passed on whole, with its own length', async () => {
  const { queue, sent } = await setupReading()
  await queue.fetch(new Request(ORDERS, { method: 'POST', body: new Uint8Array(MOST + 1) }))
  expect(sent).toMatchObject([{ isRequest: true }])
  expect(sent[0]?.bytes.byteLength).toBe(MOST + 1)
})

test('a form over maxBodyBytes is sent with the boundary that is in it', async () => {
  const { queue, sent } = await setupReading()
  const form = new FormData()
  form.set('file', new Blob([new Uint8Array(MOST + 1)]), 'a.bin')
  await queue.fetch(ORDERS, { method: 'POST', body: form })
  const [{ bytes, headers }] = sent as [(typeof sent)[0]]
  const arrived = await new Response(bytes as Uint8Array<ArrayBuffer>, {
    headers: { 'content-type': headers.get('content-type') ?? '' },
  }).formData()
  expect((arrived.get('file') as File).size).toBe(MOST + 1)
})

test('the abort of a caller ends the reading of a body: nothing is sent, and the stream is cancelled', async () => {
  const { queue, clock, sent } = await setupReading()
  let cancelled: unknown
  const silent = new ReadableStream({
    cancel: (reason) => {
      cancelled = reason
    },
  })
  const leaving = new AbortController()
  const call = watch(queue.fetch(streaming(silent, { signal: leaving.signal })))
  await clock.settle()
  expect(call.state).toBe('pending')
  const reason = new Error('left')
  leaving.abort(reason)
  await clock.settle()
  expect(call).toMatchObject({ state: 'rejected', error: reason })
  expect(cancelled).toEqual([reason, reason]) // it was read twice: for the queue, and as it is
  expect(sent).toEqual([])
})

test.each<[redrive: TaskOptions, ms: number]>([
  [{ waitMs: 5_000 }, 5_000],
  [{ waitMs: 5_000, mode: 'defer' }, 5_000],
  [{}, 30_000 + MOST / 50],
  [{ mode: 'defer' }, 30_000 + MOST / 50],
])('a body that stops coming ends its call, with %j after %i ms, and its stream is cancelled', async (redrive, ms) => {
  const { queue, clock, sent } = await setupReading()
  let cancelled: unknown
  const stalled = new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array(CHUNK)),
    cancel: (reason) => {
      cancelled = reason
    },
  })
  const call = watch(queue.fetch(streaming(stalled), { redrive }))
  await clock.advance(ms - 1)
  expect(call.state).toBe('pending')
  await clock.advance(51)
  expect(call).toMatchObject({ state: 'rejected', error: { code: 'WAIT_EXCEEDED' } })
  expect([sent, cancelled]).toEqual([[], [call.error, call.error]])
})

test('the abort of a caller ends a stream that is passed on', async () => {
  const { seen, stream } = counted(Number.POSITIVE_INFINITY)
  let sent: Request | undefined
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    sent = new Request(input, init)
    return new Promise<Response>((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  }
  const { queue, clock } = await setup({ fetch, maxBodyBytes: MOST })
  const leaving = new AbortController()
  const call = watch(queue.fetch(streaming(stream, { signal: leaving.signal })))
  await clock.settle()
  expect(sent?.signal.aborted).toBe(false)
  leaving.abort()
  await clock.settle()
  expect(call.state).toBe('rejected')
  expect(sent?.signal.aborted).toBe(true)
  expect(seen.pulled).toBeLessThan(20)
})

test('a stream that breaks off rejects the call with its own error, unsent', async () => {
  const { queue, sent } = await setupReading()
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('disk gone')) })
  await expect(queue.fetch(streaming(broken))).rejects.toThrow('disk gone')
  expect(sent).toEqual([])
})

test('a stream that gives no bytes is refused, as fetch refuses it', async () => {
  const { queue, sent } = await setupReading()
  const texts = new ReadableStream({ pull: (controller) => controller.enqueue('text') })
  await expect(queue.fetch(streaming(texts))).rejects.toBeInstanceOf(TypeError)
  expect(sent).toEqual([])
})

test.each([
  ['enqueue', (queue: Awaited<ReturnType<typeof setup>>['queue'], request: Request) => queue.enqueue(request)],
  [
    'an orderKey',
    (queue: Awaited<ReturnType<typeof setup>>['queue'], request: Request) =>
      queue.fetch(request, { redrive: { orderKey: 'a' } }),
  ],
])('%s refuses a stream over maxBodyBytes, and lets go of it', async (_what, call) => {
  const { queue, clock, sent } = await setupReading()
  const { seen, stream } = counted(Number.POSITIVE_INFINITY)
  await expect(call(queue, streaming(stream))).rejects.toMatchObject({ code: 'BODY_TOO_LARGE' })
  await clock.settle()
  expect(seen.pulled).toBeLessThan(15)
  expect(seen.cancelled).toBeDefined()
  expect(sent).toEqual([])
})

test('after an attempt without an answer a large body waits a second more for each MiB and attempt, at most the longest wait', async () => {
  const MIB = 1_048_576
  const waits = async (bytes: number, fails: readonly ('lost' | 503)[], policy = {}) => {
    const { queue, server, clock } = await setup({ policy })
    for (const one of fails) one === 'lost' ? server.fail() : server.reply(one)
    const answer = watch(queue.fetch(ORDERS, { method: 'POST', body: new Uint8Array(bytes) }))
    await clock.advance(300_000)
    expect(answer.state).not.toBe('pending')
    return gaps(server)
  }
  const lost = Array(4).fill('lost')
  expect(await waits(MIB, lost)).toEqual([1_000, 2_000, 4_000, 8_000])
  expect(await waits(2 * MIB, ['lost', 503, 503, 'lost'])).toEqual([3_000, 2_000, 4_000, 16_000])
  expect(await waits(2 * MIB, lost, { maxDelayMs: 5_000 })).toEqual([3_000, 5_000, 5_000, 5_000])
})
