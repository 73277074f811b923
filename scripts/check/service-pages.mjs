// The tables of docs/service.md and docs/service-security.md, drawn from what the service itself runs on: its routes, its schemas, its
// flags, its commands, its list of refused addresses. Each stands between `<!-- name -->` and `<!-- /name -->`. A page that was written
// by hand would differ after the next change, and no reader could tell.
import { readFileSync, writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

export const servicePages = ['docs/service.md', 'docs/service-security.md']

/** Text in a cell, outside of backquotes: a `*` there would begin an emphasis. */
const words = (text) =>
  text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replace(/[*_<]/g, '\\$&')))
    .join('')
    .replaceAll('|', '\\|')
    .replace(/\s+/g, ' ')
const code = (text) => `\`${text.replaceAll('|', '\\|')}\``
const codes = (list) => list.map(code).join(', ')

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
const table = (head, rows) =>
  [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows.map((row) => `| ${row.join(' | ')} |`)].join(
    '\n',
  )

/** @returns {Map<string, any[]>} in the order of the first of each */
const grouped = (rows, nameOf) => Map.groupBy(rows, nameOf)

/** A table with a row above each group that names it. */
const inGroups = (head, rows, nameOf, draw) =>
  table(
    head,
    [...grouped(rows, nameOf)].flatMap(([title, some]) => [
      [`**${title}**`, ...head.slice(1).fill('')],
      ...some.map(draw),
    ]),
  )

const shown = ({ method, path }) => `${method} ${path}`

function endpoints(rows) {
  const answersOf = ({ answers, problems }) => {
    const good = answers.map(({ status, description }) => `${status} ${words(description)}`)
    const rising = problems.toSorted((one, other) => one.status - other.status)
    const bad = [...grouped(rising, ({ status }) => status)].map(
      ([status, list]) => `${status} ${codes(list.map(({ type }) => type))}`,
    )
    return [...good, ...bad].join('<br>')
  }
  const draw = (row) => [code(shown(row)), row.scope ? code(row.scope) : '', words(row.summary), answersOf(row)]
  return inGroups(['endpoint', 'scope', 'does', 'answers'], rows, ({ tag }) => tag, draw)
}

/** Every type with the endpoints that give it. `common`: types that any may give. */
function problems(kinds, common, rows) {
  const isCommon = new Set(common.map(({ type }) => type))
  const where = (type) => {
    if (isCommon.has(type)) return 'any'
    const givers = rows.filter((row) => row.problems.some((problem) => problem.type === type))
    if (givers.length === 0) return 'any path'
    if (givers.length > 4 && givers.every(({ path }) => path.includes('{')))
      return 'any path with the name or id of something'
    return codes(givers.map(shown))
  }
  const list = Object.entries(kinds).map(([type, { status, title, retryAfterS }]) => [
    String(status),
    code(type),
    words(title),
    type === 'rate-limited' ? 'until it may' : retryAfterS === undefined ? '' : `${retryAfterS} s`,
    where(type),
  ])
  return table(['status', 'type', 'title', '`Retry-After`', 'from'], list)
}

function typeOf({ type, enum: choices, $ref }) {
  if (choices) return choices.map(code).join(', ')
  if ($ref) return 'object'
  return [type ?? 'any JSON'].flat().join(' or ')
}

/** `schema` of a component of the OpenAPI document; `all` the components, for what it refers to. */
function fields({ properties, required = [] }, all, isInput) {
  const rows = Object.entries(properties).map(([name, property]) => {
    const { description = '' } = property.$ref ? all[property.$ref.split('/').at(-1)] : property
    const must = isInput && required.includes(name) ? '. Required' : ''
    return [code(name), typeOf(property), words(`${description}${must}`)]
  })
  return table(['field', 'type', 'meaning'], rows)
}

function flags(rows) {
  const draw = ({ flag, placeholder, default: standard, help, key }) => [
    code(placeholder ? `${flag} ${placeholder}` : flag),
    words(standard),
    words(`${help}${key === undefined ? '. Not in the file' : ''}`),
  ]
  return inGroups(['flag', 'default', 'meaning'], rows, ({ group }) => group, draw)
}

const commands = (list) =>
  table(
    ['command', 'does'],
    list.map(({ name, takes, summary }) => [code(['redrive', name, takes].filter(Boolean).join(' ')), words(summary)]),
  )

const distinct = (list) => [...new Set(list)].join('; ')

/** Ranges of one rule are a row, those of IPv4 and of IPv6 apart: which of them holds an address makes no difference. */
function ranges(list) {
  const rows = [...grouped(list, ({ rule, cidr }) => `${rule} ${cidr.includes(':')}`).values()]
  return table(
    ['range', 'rule', 'use', 'source'],
    rows.map((same) => {
      const [{ rule, v4At }] = same
      const isInside = v4At === undefined ? '' : ': judged by the IPv4 address inside'
      return [
        codes(same.map(({ cidr }) => cidr)),
        code(rule),
        words(`${distinct(same.map(({ use }) => use))}${isInside}`),
        words(distinct(same.map(({ source }) => source))),
      ]
    }),
  )
}

const scopes = (names, rows) =>
  table(
    ['scope', 'allows'],
    names.map((name) => {
      const own = codes(rows.filter(({ scope }) => scope === name).map(shown))
      return [code(name), name === 'admin' ? `all that any scope does, and ${own}` : own]
    }),
  )

/** @returns {Promise<Record<string, string>>} each table by its name */
export async function serviceTables() {
  const [{ endpointRows, commonProblems }, { PROBLEMS }, { openapiDocument }, { flagRows }, { COMMANDS }, more] =
    await Promise.all([
      import('../../js/service/api/routes.ts'),
      import('../../js/service/api/problem.ts'),
      import('../../js/service/api/openapi.ts'),
      import('../../js/service/cli/flags.ts'),
      import('../../js/service/cli/commands.ts'),
      Promise.all([import('../../js/service/addresses.ts'), import('../../js/service/cli/records.ts')]),
    ])
  const [{ REFUSED_RANGES }, { SCOPES }] = more
  const rows = endpointRows()
  const common = commonProblems()
  const { schemas } = openapiDocument('').components
  return {
    endpoints: endpoints(rows),
    'problem types': problems(PROBLEMS, common, rows),
    'fields of a task': fields(schemas.TaskIn, schemas, true),
    'fields of a receipt': fields(schemas.Receipt, schemas, false),
    flags: flags(flagRows()),
    commands: commands([{ name: 'serve', summary: 'Runs the service; also without a command' }, ...COMMANDS]),
    scopes: scopes(SCOPES, rows),
    'refused ranges': ranges(REFUSED_RANGES),
  }
}

const MARKS = /^<!-- ([a-z][a-z ]*) -->\n([\s\S]*?)^<!-- \/\1 -->$/gm

/**
 * @param {string} text of a page
 * @param {Readonly<Record<string, string>>} tables
 * @returns {{ text: string, found: string[], stale: string[] }} the page with the tables as they are now; the names of those that it has;
 *   of these, the ones that were others
 */
export function filled(text, tables) {
  const found = []
  const stale = []
  const next = text.replace(MARKS, (whole, name) => {
    const now = tables[name]
    if (now === undefined) throw new StepError(`<!-- ${name} -->: there is no such table`)
    found.push(name)
    const drawn = `<!-- ${name} -->\n\n${now}\n\n<!-- /${name} -->`
    if (drawn !== whole) stale.push(name)
    return drawn
  })
  return { text: next, found, stale }
}

export async function checkServicePages() {
  const tables = await serviceTables()
  const pages = servicePages.map((path) => ({ path, ...filled(readFileSync(at(path), 'utf8'), tables) }))
  const isShown = new Set(pages.flatMap(({ found }) => found))
  const lost = Object.keys(tables).filter((name) => !isShown.has(name))
  if (lost.length > 0) throw new StepError(`no page has <!-- ${lost.join(' -->, <!-- ')} -->`)
  if (process.argv.includes('--write')) {
    for (const { path, text, stale } of pages) if (stale.length > 0) writeFileSync(at(path), text)
    return
  }
  const faults = pages.filter(({ stale }) => stale.length > 0).map(({ path, stale }) => `${path}: ${stale.join(', ')}`)
  if (faults.length > 0) {
    throw new StepError(`tables differ from what the service has; run: npm run check -- --write\n${faults.join('\n')}`)
  }
}
