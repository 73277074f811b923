// A process that only takes up tasks, and is held up for 11 s while its queue loads: it is stopped, or its own work blocks it. It
// prints a line for each task that it sends.
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'

const [how = '', path = ''] = process.argv.slice(2)
const queue = new RetryQueue({
  store: sqliteStore({ path }),
  principal: null,
  // a disk that takes its time: what is beside the code is here before any timer
  wasm: async () => {
    await delay(100)
    return readFile(new URL('../../../js/core/generated/queue/queue.wasm', import.meta.url))
  },
  fetch: async () => {
    process.stdout.write('sent\n')
    return new Response()
  },
})
queue.on('degraded', ({ code }) => process.stdout.write(`${code}\n`))
function holdUp(): void {
  process.stdout.write('held up\n')
  if (how === 'stopped') process.kill(process.pid, 'SIGSTOP')
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 11_000)
}
// once the queue has begun to wait for its core, 10 s at most, and before anything of it is here
const { setTimeout } = globalThis
let isHeldUp = false
globalThis.setTimeout = ((wake: () => void, ms: number) => {
  const timer = setTimeout(wake, ms)
  if (ms === 10_000 && !isHeldUp) {
    isHeldUp = true
    queueMicrotask(holdUp)
  }
  return timer
}) as typeof setTimeout
setInterval(() => {}, 1_000)
