/**
 * Cases of the tests of undici's RetryAgent and RetryHandler, in our words. Where we differ on purpose, the name says so;
 * docs/differences.md says why.
 */

import { expect, test } from 'vitest'
import type { RetryContext } from '../../../js/index.ts'
import { gaps, ORDERS, setup, watch } from '../setup.ts'
import { ended } from './peer.ts'

test('a body is sent again as it was: text, bytes; on purpose: a stream is refused, since it can be sent only once', async () => {
  for (const body of ['order', new TextEncoder().encode('order'), new Blob(['order'])]) {
    const { queue, server, clock } = await setup()
    server.reply(503).reply(503)
    const call = queue.fetch(ORDERS, { method: 'PUT', body })
    await clock.advance(10_000)
    expect((await call).status).toBe(200)
    expect(server.requests.map(({ body: sent }) => sent)).toEqual(['order', 'order', 'order'])
  }
  const { queue, server } = await setup()
  const init = { method: 'PUT', body: new Blob(['order']).stream(), duplex: 'half' } as RequestInit
  await expect(queue.fetch(ORDERS, init)).rejects.toMatchObject({ code: 'BODY_NOT_REPLAYABLE' })
  expect(server.hits).toBe(0)
})

test('a wait of one’s own sees the attempt and the wait that the server asked for', async () => {
  const seen: unknown[] = []
  const delay = ({ attemptNumber, response }: RetryContext) => {
    seen.push([attemptNumber, response?.headers.get('retry-after')])
    return 100
  }
  const { waits } = await ended({ options: { delay }, server: [503, [503, { 'retry-after': '3' }]] })
  expect(seen).toEqual([
    [1, null],
    [2, '3'],
  ])
  // on purpose: it may wait longer than the server asked, but not shorter
  expect([waits[0], (waits[1] ?? 0) >= 3_000]).toEqual([100, true])
})

test('an abort during the wait is heard at once, and a late decision about it does nothing', async () => {
  let decide: (retry: boolean) => void = () => {}
  const shouldRetry = ({ attemptNumber }: RetryContext) =>
    attemptNumber === 1
      ? undefined
      : new Promise<boolean>((resolve) => {
          decide = resolve
        })
  const { queue, server, clock } = await setup({ shouldRetry })
  server.reply(503).reply(503).reply(503)
  const waiting = new AbortController()
  const first = watch(queue.fetch(ORDERS, { signal: waiting.signal }))
  await clock.settle()
  waiting.abort()
  await clock.settle()
  expect(first.error).toMatchObject({ name: 'AbortError' })
  const deciding = new AbortController()
  const second = watch(queue.fetch(ORDERS, { signal: deciding.signal }))
  await clock.advance(1_000)
  deciding.abort()
  await clock.settle()
  expect(second.error).toMatchObject({ name: 'AbortError' })
  decide(true)
  await clock.advance(60_000)
  expect([server.hits, gaps(server).length, queue.stats().depth]).toEqual([3, 2, 0])
})

test('on purpose: a body that breaks off is the caller’s, and is not resumed with a range', async () => {
  let hits = 0
  const fetch = async () => {
    hits++
    return new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) }))
  }
  const { queue } = await setup({ fetch })
  const response = await queue.fetch(ORDERS)
  await expect(response.text()).rejects.toThrow('terminated')
  expect(hits).toBe(1)
})
