// From nothing to a running core, in fresh processes: what the first failed call of a page or a server waits for.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { median } from './lib/measure.mjs'
import { folder } from './lib/package.mjs'
import { orLess } from './lib/smoke.mjs'
import { figure, note, table } from './lib/table.mjs'

const ROUNDS = orLess(15)

const entry = JSON.stringify(pathToFileURL(`${folder}/index.js`).href)
const peer = (name) => JSON.stringify(import.meta.resolve(name))

/** Each prints its own times as JSON, in ms. */
const scripts = {
  redrive: `
    const { RetryQueue } = await import(${entry}); lap('import of the entry')
    await new RetryQueue().ready; lap('a queue with its core: import of the chunk, unpack, compile, start')
    await new RetryQueue().ready; lap('another')`,
  'p-queue + p-retry': `await import(${peer('p-queue')}); await import(${peer('p-retry')}); lap('import')`,
  ky: `await import(${peer('ky')}); lap('import')`,
  'axios + axios-retry': `await import(${peer('axios')}); await import(${peer('axios-retry')}); lap('import')`,
}
const frame = (body) => `
  const laps = {}
  let last = performance.now()
  const lap = (name) => { const now = performance.now(); laps[name] = now - last; last = now }
  // Node loads its fetch when it is first touched; that is not the library's doing, and the first call needs it anyway
  await new Response(new Blob(['-']).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
  last = performance.now()
  ${body}
  console.log(JSON.stringify(laps))`

const laps = Object.fromEntries(Object.keys(scripts).map((name) => [name, []]))
for (let round = orLess(-1, 0); round < ROUNDS; round++) {
  for (const [name, body] of Object.entries(scripts)) {
    const args = ['--input-type=module', '-e', frame(body)]
    const out = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    if (round >= 0) laps[name].push(out)
  }
}
const rows = []
for (const [name, runs] of Object.entries(laps)) {
  for (const lap of Object.keys(runs[0])) rows.push([`${name}: ${lap}`, figure(median(runs.map((run) => run[lap])))])
}
const empty = []
const served = []
for (let round = orLess(-1, 0); round < ROUNDS; round++) {
  const before = performance.now()
  execFileSync(process.execPath, ['-e', '0'])
  const between = performance.now()
  await serve()
  if (round < 0) continue
  empty.push(between - before)
  served.push(performance.now() - between)
}
rows.push(['Node with nothing to do: until it has ended', figure(median(empty))])
rows.push(['@redrive/service, `serve`: until it is ready', figure(median(served))])
rows.push(['the same, in times of Node with nothing to do', figure(median(served) / median(empty))])

/** Resolves when a service in a process of its own has said that it is ready. */
async function serve() {
  const words = ['serve', '--port', '0', '--store', 'memory:', '--log-format', 'json']
  const child = spawn(process.execPath, [`${folder}-service/cli.js`, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let said = ''
  for await (const text of child.stdout) {
    said += text
    if (said.includes('"ready"')) break
  }
  child.kill('SIGKILL')
  await ended
}

table(['', 'ms'], rows)
console.log()
note(`${ROUNDS} processes each, medians. In a page the core chunk is fetched at idle and started by the first failure.`)
