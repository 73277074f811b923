/**
 * A queue process on a file.
 *
 *   node member.ts '{"life":"2.7","url":"http://127.0.0.1:1234","folder":"...","seed":5}'
 */

import { builtPackage, storeFile } from './built.ts'
import { type MemberOptions, type Order, queueProcess } from './queue-process.ts'

const options: MemberOptions = JSON.parse(process.argv[2] ?? '{}')
const { url, folder, breaks, isAsUsed = false } = options
const { RetryQueue, sqliteStore } = await builtPackage()

await queueProcess({
  options,
  Queue: RetryQueue,
  store: sqliteStore({ path: storeFile(folder), ...(isAsUsed ? {} : { idleCheckMs: 100 }) }),
  breaks,
  limits: {},
  take: (queue, { intent, key }: Order) =>
    queue.enqueue(`${url}/api/orders?via=enqueue`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ intent }),
      ...(key === undefined ? {} : { redrive: { idempotencyKey: key } }),
    }),
})
