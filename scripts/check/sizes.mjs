// What a page downloads, beside what we allow and what we aim at. Bytes after gzip, of files as published.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { metafile } from '../build/bundle.mjs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

/** `files` and everything they import, by static imports; `dynamic` collects the entries of what they import later. */
function closure(outputs, files, dynamic = new Set()) {
  const found = new Set()
  const visit = (file) => {
    if (found.has(file)) return
    found.add(file)
    for (const { path, kind, external } of outputs.get(file).imports) {
      if (external) continue
      if (kind === 'dynamic-import') dynamic.add(basename(path))
      else visit(basename(path))
    }
  }
  for (const file of files) visit(file)
  return found
}

const gzipped = (files) =>
  gzipSync(Buffer.concat([...files].sort().map((file) => readFileSync(join(at('pkg'), file)))), { level: 9 }).length

function measure() {
  const { outputs } = JSON.parse(readFileSync(metafile, 'utf8'))
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]))
  const later = new Set()
  const entry = closure(byName, ['index.js'], later)
  const page = closure(byName, ['index.js', 'fetch.js'], later)
  const core = new Set([...closure(byName, later)].filter((file) => !page.has(file)))
  return [
    { what: 'entry', files: entry },
    { what: 'entry + fetch adapter', files: page, limit: 8_000, aim: 6_000 },
    { what: 'entry + axios adapter', files: closure(byName, ['index.js', 'axios.js']) },
    { what: 'core, loaded at idle', files: core, limit: 45_000, aim: 30_000 },
    { what: 'the module itself', files: ['redrive.wasm'] },
  ]
}

const cell = (value) => (value === undefined ? '' : value.toLocaleString('en')).padStart(8)

/** @returns {string} the table; throws where a limit is passed or nothing was found to measure */
export function checkSizes() {
  const rows = measure().map((row) => ({ ...row, bytes: gzipped(row.files) }))
  const head = `${'gzip bytes'.padEnd(24)}${'now'.padStart(8)}${'aim'.padStart(8)}${'limit'.padStart(8)}`
  const lines = rows.map(({ what, bytes, aim, limit }) => `${what.padEnd(24)}${cell(bytes)}${cell(aim)}${cell(limit)}`)
  const table = [head, ...lines].join('\n')
  const core = rows.find(({ what }) => what.startsWith('core'))
  if (core.files.size === 0) throw new StepError('the entry loads nothing later: the core is not a chunk of its own')
  const over = rows.filter(({ bytes, limit }) => limit !== undefined && bytes > limit)
  if (over.length > 0) throw new StepError(`${table}\nover the limit: ${over.map(({ what }) => what).join(', ')}`)
  return table
}
