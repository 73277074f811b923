// docs/options.md: every option with its default and meaning, drawn from the doc comments of js/, so that the page cannot differ from
// what an editor shows. A default that depends on the host is written 'X in a page; Y in a Worker; Z elsewhere'.
import { readFileSync, writeFileSync } from 'node:fs'
import { filesUnder } from '../lib/inputs.mjs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

const HOSTS = ['page', 'Node', 'Worker', 'object']

const groups = [
  ['A queue', '`new RetryQueue({ ... })`.', 'RetryQueueOptions'],
  ['One call', '`redrive: { ... }` in the init of `fetch`, in the config of Axios, and in `enqueue`.', 'TaskOptions'],
  [
    'Hooks',
    "Of a queue, or of one call, whose hooks are asked first. Functions are never stored: after a restart the queue's apply.",
    'RetryHooks',
  ],
  ['A policy', '`policy`, `policies`, and `redrive.policy`. The formulas: [backoff](backoff.md).', 'RetryPolicy'],
  ['Gates', 'Of each origin: [gates](gates.md).', 'BreakerOptions', 'RetryBudgetOptions', 'RateOptions'],
  ['`idempotency`', 'Keys: [headers](headers.md).', 'IdempotencyOptions'],
  [
    'What is stored and kept',
    'Rules for what may be stored and shown: [headers](headers.md). How long tasks are kept that have ended.',
    ...['SanitizeOptions', 'RetentionOptions'],
  ],
  [
    'A Worker',
    '`withRetry` and `workerFetch`, beside options of a queue: [Workers](workers.md).',
    'WorkerFetchOptions',
  ],
  ['A Durable Object', 'The `options` of a `RedriveObject`, beside options of a queue.', 'RedriveObjectOptions'],
  [
    'Stores',
    '[SQLite](durability.md#many-processes) and [Redis](redis.md) are for Node; that of IndexedDB is made by itself where a page is `durable`.',
    ...['SqliteStoreOptions', 'RedisStoreOptions', 'IndexedDbStoreOptions'],
  ],
  ['Metrics and traces', '[observability](observability.md).', 'MetricsOptions', 'OpenTelemetryOptions'],
]

/** The option or function to which an interface belongs, where several share a table. */
const takes = {
  BreakerOptions: 'breaker',
  RetryBudgetOptions: 'retryBudget',
  RateOptions: 'rate',
  SanitizeOptions: 'sanitize',
  RetentionOptions: 'retention',
  SqliteStoreOptions: 'sqliteStore',
  RedisStoreOptions: 'redisStore',
  IndexedDbStoreOptions: 'indexedDbStore',
  MetricsOptions: 'registerMetrics',
  OpenTelemetryOptions: 'attachOpenTelemetry',
}

/** @returns {{ name: string, text: string, fallback: string }[]} the documented members of an interface */
export function optionsOf(source, name) {
  const body = new RegExp(`export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source)?.[1]
  if (body === undefined) throw new StepError(`no interface ${name}`)
  const member = /(?:\/\*\*([\s\S]*?)\*\/\n)?^ {2}readonly (\w+)(\??): /gm
  return [...body.matchAll(member)].map(([, comment = '', option, optional]) => {
    const words = comment
      .replace(/^\s*\* ?/gm, ' ')
      .replace(/\s+/g, ' ')
      .trim()
    const [text, given] = words.split(/ ?@default /)
    if (optional && given === undefined) throw new StepError(noDefault(name, option))
    return { name: option, text: text ?? '', fallback: given ?? 'required' }
  })
}

const noDefault = (name, option) =>
  `${name}.${option} is optional and its comment has no default; add '@default' and the value that holds where it is not given, or '@default none'`

/** The default for each host: '10 in a page; 3 elsewhere' -> { page: '10', Node: '3', ... } */
export function byHost(fallback) {
  const parts = fallback
    .split('; ')
    .map((part) => /^(.*) (?:in an? (page|Worker|object)|in (Node)|(elsewhere))$/.exec(part))
  if (!parts.every(Boolean)) return Object.fromEntries(HOSTS.map((host) => [host, fallback]))
  const found = new Map(parts.map(([, value, host, node, rest]) => [host ?? node ?? rest, value]))
  return Object.fromEntries(HOSTS.map((host) => [host, found.get(host) ?? found.get('elsewhere') ?? 'none']))
}

// the first sentence: the rest is where the editor shows it
const brief = (text) =>
  (/^.*?\.(?= [A-Z'`]|$)/.exec(text)?.[0] ?? text)
    .replaceAll('|', '\\|')
    .replace(/https:\/\/[^\s()]+\/blob\/main\/docs\//g, '')
const code = (value) =>
  /^[\d_]+$|^'[^' ]*'$|^(?:true|false|null)$/.test(value) ? `\`${value}\`` : value.replaceAll('|', '\\|')

const files = filesUnder([at('js')]).filter((path) => path.endsWith('.ts'))
const sources = () => files.map((path) => readFileSync(path, 'utf8'))
const sourceOf = (name) => sources().find((text) => text.includes(`export interface ${name} `)) ?? ''

function taken(file) {
  const list = /const QUEUE_OPTIONS = \[([\s\S]*?)\]/.exec(readFileSync(at(file), 'utf8'))?.[1] ?? ''
  return new Set([...list.matchAll(/'(\w+)'/g)].map(([, name]) => name))
}

const rowsOf = (name) => optionsOf(sourceOf(name), name).map((row) => ({ ...row, hosts: byHost(row.fallback) }))

function table([title, intro, ...names]) {
  const rows = names.map(rowsOf)
  const isQueue = names.includes('RetryQueueOptions')
  const takers = { Worker: taken('js/cloudflare/worker-options.ts'), object: taken('js/cloudflare/object-options.ts') }
  const differ = isQueue || rows.flat().some(({ hosts }) => new Set(Object.values(hosts)).size > 1)
  const cell = ({ name: option, hosts }, host) =>
    isQueue && takers[host]?.has(option) === false ? '-' : code(hosts[host])
  const head = differ ? ['option', ...HOSTS, 'meaning'] : ['option', 'default', 'meaning']
  const lines = rows.flatMap((some, i) => [
    ...(names.length > 1
      ? [
          `| **\`${takes[names[i]]}\`** | ${head
            .slice(2)
            .map(() => '|')
            .join(' ')} |`,
        ]
      : []),
    ...some.map((row) => {
      const cells = differ ? HOSTS.map((host) => cell(row, host)) : [code(row.hosts.Node)]
      return `| \`${row.name}\` | ${[...cells, brief(row.text)].join(' | ')} |`
    }),
  ])
  return [`## ${title}`, '', intro, '', `| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines, ''].join(
    '\n',
  )
}

const head = `# Options

The options, each with its default and its meaning in a sentence; your editor shows the rest. Durations are milliseconds. *Worker* is the fetch of
\`withRetry\` and \`workerFetch\`, *object* a \`RedriveObject\`; a \`-\` says that they do not take the option. \`{}\` stands for the defaults
of its own table. \`npm run check -- --write\` writes this page from the comments in the code.

`

export function checkOptions() {
  const text = head + groups.map(table).join('\n')
  const file = at('docs/options.md')
  if (process.argv.includes('--write')) return writeFileSync(file, text)
  if (readFileSync(file, 'utf8') !== text) {
    throw new StepError('docs/options.md is not what the comments say; run: npm run check -- --write')
  }
}
