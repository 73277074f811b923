/**
 * `npm run trace`: one task's trace over three attempts and a restart. A service places an order with a server that fails twice;
 * after the second failure the service is killed, and the next process makes the third attempt. The exit code is not 0 if
 * these are not one trace.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { treeOf } from './tree.mjs'

const program = fileURLToPath(new URL('./service.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'redrive-trace-'))
const statuses = [503, 503, 200]
const received = []
const spans = []
const events = []

const server = createServer((request, response) => {
  const status = statuses[received.push(request.headers.traceparent) - 1] ?? 200
  request.resume().once('end', () => response.writeHead(status).end())
})
await once(server.listen(0, '127.0.0.1'), 'listening')

let service
try {
  await heard('failed 2', start('A', { order: 'tea' }))
  const gone = once(service, 'exit')
  service.kill('SIGKILL')
  await gone
  events.push({ at: Date.now(), text: '✗  process A is killed; process B starts on the same file' })
  await heard('succeeded', start('B', {}))
  report()
} finally {
  if (service.connected) service.disconnect()
  server.close()
  server.closeAllConnections()
  if (service.exitCode === null) await once(service, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

function start(process, words) {
  const given = { path: join(folder, 'tasks.db'), url: `http://127.0.0.1:${server.address().port}`, ...words }
  service = fork(program, [JSON.stringify(given)], { execArgv: ['--disable-warning=ExperimentalWarning'] })
  service.on('message', ({ span }) => span && spans.push({ ...span, process }))
  return service
}

/** Rejects if the process ends before its message arrives. */
function heard(name, from) {
  return new Promise((resolve, reject) => {
    from.on('message', ({ event }) => event === name && resolve())
    from.once('exit', (code) => reject(new Error(`the service ended, code ${code}, before '${name}'`)))
  })
}

function report() {
  const attempts = spans.filter(({ name }) => name === 'POST')
  const traces = new Set(spans.map(({ traceId }) => traceId))
  const roots = spans.filter(({ parentId }) => parentId === null)
  const expected = attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)
  const same = received.filter((traceparent, i) => traceparent === expected[i]).length
  const lines = [
    `trace ${[...traces].join(', ')}`,
    '',
    ...treeOf(spans, events),
    '',
    `${traces.size} trace, ${roots.length} root, ${attempts.length} attempts; ${same} of ${received.length} requests came with the traceparent of their span`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  const whole = traces.size === 1 && roots.length === 1 && attempts.length === statuses.length
  if (!whole || same !== received.length) process.exitCode = 1
}
