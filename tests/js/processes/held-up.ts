// A process that only takes up tasks, and is held up for 11 s while its queue loads: it is stopped, or its own work blocks it. It
// prints a line for each task that it sends.
import { RetryQueue } from '../../../js/index.ts'
import { sqliteStore } from '../../../js/stores/sqlite.ts'

const [how = '', path = ''] = process.argv.slice(2)
const queue = new RetryQueue({
  store: sqliteStore({ path }),
  principal: null,
  fetch: async () => {
    process.stdout.write('sent\n')
    return new Response()
  },
})
queue.on('degraded', ({ code }) => process.stdout.write(`${code}\n`))
// after the timer by which the queue begins to load, and before anything of it is here
setTimeout(() => {
  process.stdout.write('held up\n')
  if (how === 'stopped') process.kill(process.pid, 'SIGSTOP')
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 11_000)
})
setInterval(() => {}, 1_000)
