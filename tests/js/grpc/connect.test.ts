/** The Connect protocol, whose unary call is a POST: what a queue does for any request it does for these, with real servers and clients. */

import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { expect, onTestFinished, test } from 'vitest'
import { wrapFetch } from '../../../js/adapters/fetch.ts'
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { freshPath } from '../sqlite/setup.ts'
import { connectServer, Orders } from './shop.ts'

const QUICK = { initialDelayMs: 1, jitterType: 'NONE', maxDelayMs: 1 } as const

/** A client of the service whose requests go through a queue. */
function shopAt(url: string, useBinaryFormat: boolean): Client<typeof Orders> {
  const queue = new RetryQueue({ policy: QUICK })
  onTestFinished(() => queue.close())
  const transport = createConnectTransport({ baseUrl: url, fetch: wrapFetch(queue), useBinaryFormat })
  return createClient(Orders, transport)
}

test.each([true, false])(
  'S5 a call that fails three times has one key, and its answer; binary: %s',
  async (isBinary) => {
    const { url, seen } = await connectServer([Code.Unavailable, Code.ResourceExhausted, Code.DeadlineExceeded])
    expect(await shopAt(url, isBinary).create({ sku: 'A-1' })).toMatchObject({ sku: 'A-1' })
    expect(seen.map(({ sku }) => sku)).toEqual(['A-1', 'A-1', 'A-1', 'A-1'])
    expect(seen[0]?.key).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
  },
)

test('an end that no retry can mend is the caller’s, as the client has it', async () => {
  const { url, seen } = await connectServer([Code.InvalidArgument])
  const error = await shopAt(url, true)
    .create({ sku: 'A-1' })
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ConnectError)
  expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: 'as it was told' })
  expect(seen).toHaveLength(1)
})

test('S1 S5 a call that was handed over is made by the next process that opens the file, under the same key', async () => {
  const path = freshPath()
  const { url, seen } = await connectServer([Code.Unavailable])
  // a header of the protocol, which is on no list of what may be stored
  const sanitize = { persistHeaders: ['connect-protocol-version'] }
  const policy = { ...QUICK, initialDelayMs: 60_000, maxDelayMs: 60_000 }
  const first = new RetryQueue({ store: sqliteStore({ path }), policy, sanitize })
  const failed = new Promise((resolve) => first.on('retry', resolve))
  const { taskId, durability } = await first.enqueue(`${url}/shop.v1.Orders/Create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
    body: JSON.stringify({ sku: 'A-1' }),
  })
  expect(durability).toBe('strict')
  await failed
  await first.close()
  const next = new RetryQueue({ store: sqliteStore({ path }), sanitize })
  onTestFinished(() => next.close())
  await next.ready
  await next.flush()
  expect(await next.result(taskId)).toMatchObject({ task: { status: 'SUCCEEDED' }, responseStatus: 200 })
  expect(seen).toEqual([
    { key: expect.stringMatching(/^[\da-f-]{36}$/), sku: 'A-1' },
    { key: seen[0]?.key, sku: 'A-1' },
  ])
})
