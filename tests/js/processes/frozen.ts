// A process that sends a POST and is stopped, or blocked by its own work, while it waits for the answer. Its words: the target, how the
// call is made, how long its own work takes and the store's file.
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'

const [url = '', how = '', blockedMs = '0', path = ''] = process.argv.slice(2)
const queue = new RetryQueue(path ? { store: sqliteStore({ path }), principal: null } : {})
await queue.ready
const init = { method: 'POST', body: 'tea' }
const once = { policy: { maxAttempts: 1 } }
const calls: Record<string, () => Promise<number | string>> = {
  awaited: async () => (await queue.fetch(url, init)).status,
  once: async () => (await queue.fetch(url, { ...init, redrive: once })).status,
  deferred: async () => (await queue.fetch(url, { ...init, redrive: { mode: 'defer' } })).status,
  enqueued: async () => (await queue.result((await queue.enqueue(url, init)).taskId)).task.status,
}
const call = calls[how]?.().catch(({ name }: Error) => name)
const block = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockedMs))
if (blockedMs !== '0') setTimeout(block, 500)
process.stdout.write(`${await call}\n`)
await queue.close()
