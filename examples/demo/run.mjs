/**
 * `npm run demo`: a flaky server in its own process, orders sent to it through a queue, and then the server's own
 * account of what arrived. Exit code 0 only if that account is as it must be.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startFlaky } from '../../tests/servers/start.mjs'
import { formServer } from '../offline-form/server.mjs'
import { Board } from './board.js'
import { inspected, intentNames, queueOptions, serverFaults } from './calls.js'
import { openInBrowser } from './opening.mjs'
import { printReport } from './report.mjs'
import { painter, show, wrapText } from './terminal.mjs'
import { judge } from './verdict.js'
import { waysOf } from './ways.mjs'

const help = `Sends orders through a redrive queue to a server that fails three times in ten, and lets the server say what arrived.

  npm run demo -- [options]

  --seed N        which faults happen; the same number, the same faults   (default 22)
  --calls N       how many orders, 1 to 500                                (default 60)
  --kill          the queue lives in a process of its own, which is killed half-way and started again
  --redis         four processes share a queue in a Redis of their own; two of them and Redis are killed
  --service       the retry service: orders are posted to it, two workers send them, and one of these is killed;
                  with --redis once more on a Redis
  --serve         the same in a browser: prints the address of the page
  --inspect       the queue of a page in the inspector, with a slower server, and until you end it; opens a browser
                  (BROWSER=none: does not)
  --offline-form  another page: a form that keeps what is sent while there is no network
  --port N        with a page: its port                                    (default: a free one)
  --help          this text
`

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

async function main() {
  const options = readOptions()
  if (options.help) return void process.stdout.write(help)
  if (options['offline-form']) return serveForm(options)
  if (options.inspect) return inspect(options)
  return options.serve ? serve(options) : demo(options)
}

async function demo(options) {
  const { ways, linesToTry = [] } = await waysOf(options, await builtPackage())
  let isOk = true
  for (const way of ways) isOk = (await run(way, options)) && isOk
  if (linesToTry.length > 0) process.stdout.write(`${linesToTry.map((line) => `  ${line}`.trimEnd()).join('\n')}\n\n`)
  process.exitCode = isOk ? 0 : 1
}

/** @returns whether all is as it must be */
async function run(way, { seed, calls }) {
  const { title, place, parts, enqueued, isStoreKilled, faults = serverFaults } = way
  const { concurrency = queueOptions.concurrency } = way
  const { stdout, env } = process
  const live = stdout.isTTY === true && env.TERM !== 'dumb'
  const paint = painter(live && !env.NO_COLOR)
  const server = await startFlaky({ faults: { ...faults, seed } })
  const board = new Board(intentNames(calls), { enqueued })
  const lines = wrapText(`${calls} orders ${title}`, (stdout.columns ?? 80) - 4)
  stdout.write(`\n${lines.map((line) => `  ${paint(line, 'bold')}\n`).join('')}\n`)
  let pauseLeft = () => 0
  const picture = show(board, { stream: stdout, paint, live, pauseLeft: () => pauseLeft() })
  const { note, stop } = picture
  const showPause = (left) => {
    pauseLeft = left
  }
  const story = []
  const sayAtEnd = (text) => void story.push(text)
  const more = []
  const addFigure = (...row) => void more.push(row)
  const accepted = await place({ server, board, note, sayAtEnd, addFigure, showPause, ...parts }).finally(stop)

  const report = await server.report()
  await server.close()
  const verdict = judge(report, { calls, accepted, concurrency, isStoreKilled })
  printReport(report, verdict, { stream: stdout, paint, more, story })
  return verdict.ok
}

async function serve({ seed, calls, port }) {
  await builtPackage()
  const server = await startFlaky({
    faults: { ...serverFaults, seed },
    mounts: { '/': here('.'), '/pkg/': here('../../pkg'), '/ui/': here('../../pkg-service/ui') },
    port,
  })
  process.stdout.write(`\n  The demo is at ${server.url}/page/?seed=${seed}&calls=${calls}\n  Ctrl-C ends it.\n\n`)
}

async function inspect({ seed, calls, port }) {
  await builtPackage()
  const server = await startFlaky({
    faults: { ...inspected.serverFaults, seed },
    mounts: { '/': here('.'), '/pkg/': here('../../pkg'), '/ui/': here('../../pkg-service/ui') },
    port,
  })
  const url = `${server.url}/page/inspect.html?seed=${seed}&calls=${calls}`
  process.stdout.write(`\n  The queue of the demo, in the inspector: ${url}\n`)
  process.stdout.write(`  ${await openInBrowser(url)} Ctrl-C ends it.\n\n`)
}

async function serveForm({ port }) {
  await builtPackage()
  const server = formServer()
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}`
  process.stdout.write(`\n  The form is at ${url}/, what has arrived at ${url}/api/reports\n`)
  process.stdout.write(`  Take the network away in the browser's tools, or end this: Ctrl-C.\n\n`)
}

async function builtPackage() {
  return await import('../../pkg/index.js').catch((error) => {
    throw new Error(`the package is not built (${error.message}): run \`npm run build\` first`)
  })
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '22' },
      calls: { type: 'string', default: '60' },
      port: { type: 'string', default: '0' },
      kill: { type: 'boolean', default: false },
      redis: { type: 'boolean', default: false },
      service: { type: 'boolean', default: false },
      serve: { type: 'boolean', default: false },
      inspect: { type: 'boolean', default: false },
      'offline-form': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { seed, calls, port } = values
  for (const name of ['kill', 'redis', 'service']) {
    for (const page of ['serve', 'inspect']) {
      if (values[name] && values[page])
        throw new Error(`--${name} and --${page}: a page has no process to kill; give one of them`)
    }
  }
  for (const name of ['redis', 'service']) {
    if (values.kill && values[name]) throw new Error(`--kill and --${name}: --${name} kills, too; give one of them`)
  }
  return {
    ...values,
    seed: whole('seed', seed, 0, 2 ** 32),
    calls: whole('calls', calls, 1, 500),
    port: whole('port', port, 0, 65_535),
  }
}

function whole(name, text, least, most) {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`--${name}: expected a whole number from ${least} to ${most}, got '${text}'`)
}

main().catch((error) => {
  process.stderr.write(`demo: ${error.message}\n`)
  process.exit(1)
})
