// The tarball in throw-away consumers. A run ends with a table, a line each; tests/packaging/results.md holds the one of a whole run,
// and what is measured is held to it. `--all`: also those that are not npm packages of everybody's; `--write`: writes that file.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { vitest } from './suites.mjs'

const linesFile = at('target', 'test', 'packaging.ndjson')
const page = at('tests', 'packaging', 'results.md')
const MARKS = /(<!-- consumers -->\n)[\s\S]*(<!-- \/consumers -->)/
/** Another compiler makes another module, another bundler another bundle. */
const TOLERANCE = 0.05

const number = (bytes) => (bytes === undefined ? '' : bytes.toLocaleString('en'))
const cells = ({ tool, what, before, after, wasmFiles, isAsked, ok }) => [
  tool,
  what,
  number(before),
  number(after),
  wasmFiles === undefined ? '' : String(wasmFiles),
  isAsked ? '`--all`' : 'always',
  ok ? 'ok' : '**failed**',
]
const row = (words) => `| ${words.join(' | ')} |`
const head = ['consumer', 'what was run', 'before', 'after', '`.wasm` files', 'run', '']

/** The name of a tool without its version, so equal on every machine. */
const nameOf = (tool) => tool.replace(/ \d[\w.-]*/g, '')
const keyOf = ([tool = '', what = '']) => `${nameOf(tool)}: ${what}`

/** The rows of the table in the file, by tool and run. */
function recorded() {
  const [, , table = ''] = /(<!-- consumers -->\n)([\s\S]*)<!-- \/consumers -->/.exec(readFileSync(page, 'utf8')) ?? []
  const rows = table.split('\n').filter((line) => line.startsWith('| '))
  return new Map(rows.map((line) => line.slice(2, -2).split(' | ')).map((words) => [keyOf(words), words]))
}

/** The complaint where the file and these lines differ; undefined where they agree. */
function differences(lines) {
  const held = recorded()
  const bytes = (text = '') => Number(text.replaceAll(',', ''))
  const off = (said, measured = 0) => Math.abs(bytes(said) - measured) > measured * TOLERANCE
  const differ = lines.filter((line) => {
    const words = held.get(keyOf([line.tool, line.what]))
    return words === undefined || off(words[2], line.before) || off(words[3], line.after)
  })
  if (differ.length === 0) return undefined
  const names = differ.map((line) => `  ${row(cells(line))}`).join('\n')
  return `tests/packaging/results.md says something else of\n${names}\nrun: npm run test:packaging -- --all --write`
}

function write(lines) {
  const date = new Date().toISOString().slice(0, 10)
  const system = existsSync('/etc/os-release')
    ? /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
    : process.platform
  const where = `\`npm run test:packaging -- --all --write\`, ${date}: ${availableParallelism()} cores ${process.arch}, ${system}, Node ${process.versions.node}.`
  const table = [row(head), '|---|---|---:|---:|---:|---|---|', ...lines.map((line) => row(cells(line)))].join('\n')
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(MARKS, (_, open, close) => `${open}\n${where}\n\n${table}\n\n${close}`),
  )
}

/**
 * @param {readonly string[]} args
 * @param {import('./suites.mjs').Size} size
 * @returns {Promise<import('./suites.mjs').Result>}
 */
export async function packaging(args, size) {
  const rest = args.filter((word) => word !== '--write')
  const all = size === 'all'
  if (args.includes('--write') && (!all || rest.length > 0)) {
    throw new StepError('--write writes the whole table: it needs --all, and nothing else')
  }
  rmSync(linesFile, { force: true })
  const result = await vitest(['packaging'], rest, size)
  const text = existsSync(linesFile) ? readFileSync(linesFile, 'utf8').trim() : ''
  const lines = text === '' ? [] : text.split('\n').map((line) => JSON.parse(line))
  lines.sort((one, other) => keyOf(cells(one)).localeCompare(keyOf(cells(other)), 'en'))
  const summary = [...result.summary, '', ...lines.map((line) => cells(line).filter(Boolean).join('  '))]
  if (!result.ok) return { ...result, summary }
  if (args.includes('--write')) write(lines)
  const output = differences(lines)
  return output === undefined
    ? { ...result, summary }
    : { ...result, summary, ok: false, failed: 1, output, failures: [output.split('\n')[0]] }
}
