// The bytes that a page downloads, after gzip, beside their limits and aims. Measured as other libraries' sizes are, by
// bundling a user's import of the package as published. Chunks that are loaded later are rows of their own.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { metafile } from '../build/bundle.mjs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

const rows = [
  {
    what: 'RetryQueue + wrapFetch',
    source: "export { RetryQueue } from './index.page.js'; export { wrapFetch } from './fetch.js'",
    limit: 8_400,
    aim: 6_000,
  },
  {
    what: 'RetryQueue + attachToAxios',
    source: "export { RetryQueue } from './index.page.js'; export { attachToAxios } from './axios.js'",
  },
  {
    what: 'RetryQueue + registerBackgroundSync',
    source:
      "export { RetryQueue } from './index.page.js'; export { registerBackgroundSync } from './background-sync.js'",
    limit: 10_600,
  },
  {
    what: 'service worker, whole',
    source: "export { RetryQueue, registerBackgroundSync } from './service-worker.js'",
    limit: 145_200,
  },
  {
    // all of a Worker's code; the two modules are files beside it
    what: 'a Worker, without its .wasm',
    source: "export { RedriveObject, withRetry } from './cloudflare.js'",
    conditions: ['workerd'],
    limit: 95_900,
  },
]

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

/** The bytes that a page with `source` loads at once. */
async function bundled({ source, conditions = [] }) {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: at('pkg') },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
    conditions,
    external: ['cloudflare:*', '*.wasm'],
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

/**
 * The bytes of the files that the entry loads later: those with the core in them, the others, and those that these load in turn
 * for a durable queue of a page, but what comes with a task only. Files that are loaded already do not count again.
 */
function later() {
  const { outputs } = JSON.parse(readFileSync(metafile, 'utf8'))
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]))
  const visit = (file, found, dynamic) => {
    if (found.has(file)) return found
    found.add(file)
    for (const { path, kind, external } of byName.get(file).imports) {
      if (external) continue
      if (kind === 'dynamic-import') dynamic.add(basename(path))
      else visit(basename(path), found, dynamic)
    }
    return found
  }
  const dynamic = new Set()
  const entry = visit('index.page.js', new Set(), dynamic)
  const found = new Set()
  const deeper = new Set()
  for (const file of dynamic) visit(file, found, deeper)
  const stored = new Set()
  for (const file of deeper) if (!/^(keys|explain)-/.test(file)) visit(file, stored, new Set())
  const files = [...found].filter((file) => !entry.has(file)).sort()
  const isCore = (file) =>
    Object.keys(byName.get(file).inputs).some((input) => /^js\/core\/(generated\/|wasm-model)/.test(input))
  const [core, rest] = [files.filter(isCore), files.filter((file) => !isCore(file))]
  if (core.length === 0) throw new StepError('the entry loads nothing later: the core is not a chunk of its own')
  // the largest first: in the order of their names, which are hashes, the sum would change by chance
  const weigh = (names) => {
    const contents = names.map((file) => readFileSync(join(at('pkg'), file)))
    return gzipped(Buffer.concat(contents.sort((a, b) => b.length - a.length)))
  }
  const ofStore = [...stored].filter((file) => !entry.has(file) && !found.has(file)).sort()
  return { core: weigh(core), rest: weigh(rest), store: weigh(ofStore) }
}

const cell = (value) => (value === undefined ? '' : value.toLocaleString('en')).padStart(8)

const MARKS = /(<!-- sizes -->\n)[\s\S]*(<!-- \/sizes -->)/
/** Another compiler makes another module, so the README's figures may differ by this share. */
const TOLERANCE = 0.03

function readmeTable(measured) {
  const lines = measured.map(({ what, bytes }) => `| ${what} | ${bytes.toLocaleString('en')} |`)
  return ['', '| minified + gzip | bytes |', '|---|---:|', ...lines, '', ''].join('\n')
}

function checkReadme(measured, write) {
  const file = at('README.md')
  const text = readFileSync(file, 'utf8')
  if (write) {
    writeFileSync(
      file,
      text.replace(MARKS, (_, open, close) => open + readmeTable(measured) + close),
    )
    return
  }
  for (const { what, bytes } of measured) {
    const said = new RegExp(`\\| ${what.replace(/[+]/g, '\\$&')} \\| ([\\d,]+) \\|`).exec(text)?.[1]
    const number = Number(said?.replaceAll(',', ''))
    if (!(Math.abs(number - bytes) <= bytes * TOLERANCE)) {
      throw new StepError(
        `README.md says ${said ?? 'nothing'} of '${what}', it is ${bytes}; run: npm run check -- --write`,
      )
    }
  }
}

/** @returns {Promise<string>} the table; throws where a limit is passed or the README says something else */
export async function checkSizes() {
  const measured = []
  for (const row of rows) measured.push({ ...row, bytes: await bundled(row) })
  const { core, rest, store } = later()
  measured.push({ what: 'core, loaded at idle', bytes: core, limit: 39_700, aim: 30_000 })
  measured.push({ what: 'runner, loaded with it', bytes: rest, limit: 36_200 })
  measured.push({ what: 'durable, in a page: store', bytes: store })
  const head = `${'gzip bytes'.padEnd(36)}${'now'.padStart(8)}${'aim'.padStart(8)}${'limit'.padStart(8)}`
  const lines = measured.map(
    ({ what, bytes, aim, limit }) => `${what.padEnd(36)}${cell(bytes)}${cell(aim)}${cell(limit)}`,
  )
  const table = [head, ...lines].join('\n')
  const over = measured.filter(({ bytes, limit }) => limit !== undefined && bytes > limit)
  if (over.length > 0) throw new StepError(`${table}\nover the limit: ${over.map(({ what }) => what).join(', ')}`)
  checkReadme(measured, process.argv.includes('--write'))
  return table
}
