// The bytes that users download, after gzip, beside their limits and aims: of a page as four bundlers make it, and of single
// entries, measured as other libraries' sizes are, by bundling a user's import of the package as published.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { measurePages } from './pages.mjs'

/**
 * The sizes of a page with `RetryQueue` and `wrapFetch`. A limit holds for each bundler. `loaded` and `by` say when and by whom.
 */
const columns = [
  {
    what: 'before the first call',
    loaded: 'at once',
    by: 'every page',
    of: ({ atOnce }) => atOnce,
    limit: 10_690,
    aim: 8_000,
  },
  { what: 'in requests', loaded: 'at once', by: 'every page', of: ({ requests }) => requests, limit: 3 },
  { what: "of it the bundler's own", of: ({ own }) => own },
  {
    what: 'at idle, more: the core',
    loaded: 'at idle; started by the first call that fails',
    by: 'every page',
    of: ({ atIdle }) => atIdle,
    limit: 98_300,
    aim: 50_000,
  },
  {
    what: 'with the first task, more: explain',
    loaded: 'with the first task',
    by: 'every page that has one',
    of: ({ withTask }) => withTask,
    limit: 2_450,
  },
  {
    what: 'with a principal, more: the store',
    loaded: 'with the core',
    by: 'queues with a principal',
    of: ({ withPrincipal }) => withPrincipal,
    limit: 46_900,
  },
  {
    what: 'a page with a principal, in all',
    of: ({ durable }) => durable.bytes,
    limit: 157_600,
    aim: 105_000,
  },
  // esbuild makes a file of what any two others share: see docs/adr/0056
  { what: 'in requests', of: ({ durable }) => durable.requests, limit: 9 },
  {
    what: 'with content keys, more: the keys module',
    loaded: 'with the store; with the first call that needs it',
    by: 'queues with content keys, and pages without a SHA-256 of their own; `redrive/core`',
    of: ({ forKeys }) => forKeys,
    limit: 21_300,
    aim: 18_000,
  },
]

const rows = [
  {
    what: 'RetryQueue + wrapFetch',
    by: 'pages',
    source: "export { RetryQueue } from './index.page.js'; export { wrapFetch } from './fetch.js'",
    limit: 9_570,
    aim: 8_000,
  },
  {
    what: 'RetryQueue + attachToAxios',
    by: 'pages',
    source: "export { RetryQueue } from './index.page.js'; export { attachToAxios } from './axios.js'",
  },
  {
    what: 'RetryQueue + registerBackgroundSync',
    by: 'pages',
    source:
      "export { RetryQueue } from './index.page.js'; export { registerBackgroundSync } from './background-sync.js'",
    limit: 11_840,
  },
  {
    what: 'service worker, whole',
    by: 'service workers',
    source: "export { RetryQueue, registerBackgroundSync } from './service-worker.js'",
    limit: 171_300,
  },
  {
    // all of a Worker's code; the two modules are files beside it
    what: 'a Worker, without its .wasm',
    by: 'Workers',
    source: "export { RedriveObject, withRetry } from './cloudflare.js'",
    conditions: ['workerd'],
    limit: 109_700,
  },
  {
    // for Node alone; 14,200 bytes of it are the scripts that run in the server
    what: 'redisStore',
    by: 'Node',
    source: "export { redisStore } from './redis.js'",
    limit: 47_700,
  },
]

/** Adapters for servers, by the bytes that each adds to the queue. */
const besideQueue = [
  ['express', 5_000],
  ['fastify', 5_100],
  ['hono', 5_000],
  ['grpc', 1_700],
  ['undici', 4_200],
].map(([name, limit]) => ({
  what: `redrive/${name}, beside the queue`,
  by: 'Node',
  limit,
  isShown: false,
  measure: async () => {
    const queue = "export { RetryQueue } from './index.js'"
    const all = await bundled({ source: `${queue}; export * from './${name}.js'` })
    return all - (await bundled({ source: queue }))
  },
}))

/** Other libraries' interfaces: all that a page or a service worker loads with each at once. */
const facades = [
  ['redrive/compat/axios-retry', 'pages', "export { default } from './compat-axios-retry.page.js'", 19_900],
  ['redrive/compat/workbox', 'service workers', "export * from './compat-workbox.js'", 177_500],
].map(([what, by, source, limit]) => ({
  what,
  by,
  limit,
  isShown: false,
  measure: () => bundled({ source }),
}))

/** The elements: all that a page loads with them at once, then all that is loaded when a part of them is opened. The core is the package's own and is counted with the queue. */
const elements = [
  {
    what: '@redrive/ui, with Lit and uPlot',
    by: 'pages with the elements',
    limit: 47_000,
    measure: () => bundled({ source: "export * from './ui.js'", conditions: ['production'], resolveDir: at('pkg-ui') }),
  },
  {
    what: 'its own files in all, the lab included',
    loaded: 'when a part of them is opened',
    by: 'pages with the elements',
    limit: 104_600,
    measure: () => sumOf('pkg-ui', /^ui(-worker|-sources|-[A-Z0-9]{8})?\.js$/),
  },
]

/** The retry service: all of its own files, each by itself, since a part of them is loaded only where it is asked for. Then those of its page. */
const service = [
  {
    what: '@redrive/service and its command line, without their libraries',
    loaded: 'in part, where it is asked for',
    by: 'the service',
    limit: 118_900,
    measure: () => sumOf('pkg-service', /^(cli|service|service-[A-Z0-9]{8})\.js$/),
  },
  {
    what: 'the page of the service, whole',
    loaded: 'in part, where it is opened',
    by: 'the page of `serve --ui`',
    limit: 221_300,
    measure: () => sumOf('pkg-service/ui', /\.js$/),
  },
]

const sumOf = (folder, names) =>
  readdirSync(at(folder))
    .filter((name) => names.test(name))
    .reduce((sum, name) => sum + gzipped(readFileSync(at(folder, name))), 0)

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

/** The bytes that a page with `source` loads at once. */
async function bundled({ source, conditions = [], resolveDir = at('pkg') }) {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
    conditions,
    external: ['cloudflare:*', 'node:*', '*.wasm'],
    plugins: [
      {
        name: 'later',
        setup: ({ onResolve }) =>
          onResolve({ filter: /./ }, ({ kind, path }) =>
            kind === 'dynamic-import' ? { path, external: true } : undefined,
          ),
      },
    ],
  })
  return gzipped(outputFiles[0].contents)
}

const number = (value) => value?.toLocaleString('en') ?? ''
const bundler = ({ bundler }) => bundler

const line = (cells) => `| ${cells.join(' | ')} |`

/** Other libraries for pages, each as its documentation imports it, in the order of the README's columns. */
const peers = [
  "export { default } from 'ky'",
  "import axios from 'axios'; import retry from 'axios-retry'; retry(axios); export { axios }",
  "export { default } from 'p-retry'",
  "export * from 'workbox-background-sync'",
]
const WEIGHT = 'gzip kB: initially, once idle, with a store'

/** The row of the README's table, in kB: a page of Vite's before its first call, at idle and with a store; and other libraries. */
async function weightRow(page) {
  const atIdle = page.atOnce + page.atIdle
  const own = [page.atOnce, atIdle, atIdle + page.withTask + page.withPrincipal]
  const others = await Promise.all(peers.map((source) => bundled({ source, resolveDir: root })))
  const [ours, ...theirs] = [own, ...others.map((bytes) => [bytes])].map((all) =>
    all.map((each) => Math.round(each / 1_000)).join(', '),
  )
  return `${line([WEIGHT, ours, ...theirs, ''])}\n`
}

/** The table of docs/packaging.md: a page in each bundler, and the single entries. */
function sizesText(pages, entries) {
  return [
    '',
    line(['a page with `wrapFetch`, bytes after gzip', ...pages.map(bundler)]),
    line(['---', ...pages.map(() => '---:')]),
    ...columns.map(({ what, of }) => line([what, ...pages.map((page) => number(of(page)))])),
    '',
    `In one file each: ${entries.map(({ what, bytes }) => `${what} ${number(bytes)}`).join('; ')}.`,
    '',
  ].join('\n')
}

/** Another compiler makes another module, so figures may differ by this share, or by one. */
const TOLERANCE = 0.03
const NUMBERS = /\d[\d,]*/g
const numbersIn = (text) => (text.match(NUMBERS) ?? []).map((each) => Number(each.replaceAll(',', '')))

function isAlike(text, said) {
  const [now, then] = [numbersIn(text), numbersIn(said)]
  const isClose = now.every((value, i) => Math.abs(value - (then[i] ?? 0)) <= Math.max(1, value * TOLERANCE))
  return isClose && now.length === then.length && text.replace(NUMBERS, '') === said.replace(NUMBERS, '')
}

const between = (mark) => new RegExp(`(<!-- ${mark} -->\\n)([\\s\\S]*)(<!-- /${mark} -->)`)

/** Holds what a page says in the second group of `marks` against `text`, or writes it there. */
function checkPage(page, marks, text) {
  const file = at(page)
  const whole = readFileSync(file, 'utf8')
  const said = marks.exec(whole)?.[2]
  if (said === undefined) throw new StepError(`${page} has no ${marks}`)
  if (process.argv.includes('--write')) {
    writeFileSync(
      file,
      whole.replace(marks, (_, open, __, close) => open + text + close),
    )
    return
  }
  if (!isAlike(text, said)) {
    throw new StepError(`what ${page} says of sizes is not this; run: npm run check -- --write\n${text}`)
  }
}

/** @returns {Promise<string>} the table; throws where a limit is passed or a document says something else */
export async function checkSizes() {
  const entries = await Promise.all(rows.map(async (row) => ({ ...row, bytes: await bundled(row) })))
  for (const each of [...service, ...elements, ...besideQueue, ...facades])
    entries.push({ ...each, bytes: await each.measure() })
  const pages = await measurePages()
  const row = (what, cells) => what.padEnd(36) + cells.map((cell) => String(cell).padStart(9)).join('')
  const table = [
    row('a page, gzip bytes', [...pages.map(bundler), 'aim', 'limit']),
    ...columns.map(({ what, of, aim, limit }) => row(what, [...pages.map(of), aim, limit].map(number))),
    row('one file, gzip bytes', ['now', 'aim', 'limit']),
    ...entries.map(({ what, bytes, aim, limit }) => row(what, [bytes, aim, limit].map(number))),
  ].join('\n')
  const over = [
    ...columns.filter(({ of, limit }) => pages.some((page) => of(page) > limit)),
    ...entries.filter(({ bytes, limit }) => bytes > limit),
  ]
  if (over.length > 0) throw new StepError(`${table}\nover the limit: ${over.map(({ what }) => what).join(', ')}`)
  const shown = entries.filter(({ isShown = true }) => isShown)
  const vite = pages.find((page) => page.bundler === 'Vite')
  checkPage('README.md', new RegExp(`(\\n)(\\| ${WEIGHT} \\|.*\\n)()`), await weightRow(vite))
  checkPage('docs/packaging.md', between('sizes'), sizesText(pages, shown))
  return table
}
