/** The facts that a service says when it starts, one a line: where tasks are kept, who may call, where requests may go, what to try. */

import type { Durability } from 'redrive'
import type { Io } from './cli/io.ts'
import type { Settings } from './cli/settings.ts'
import { hung, widthOf } from './cli/terminal.ts'
import { shareOf } from './partitions.ts'

export interface Found {
  readonly isDev: boolean
  /** Ports of the listener, and of the one for operators where there is one. */
  readonly ports: readonly number[]
  /** The store's address, without secrets. */
  readonly store: string
  readonly durability: Durability
  /** Where large bodies are kept, without secrets. undefined: with their tasks. */
  readonly bodies?: string | undefined
}

/** A fact, for people and for machines. */
export interface Fact {
  readonly text: string
  readonly fields: { readonly event: string; readonly [name: string]: unknown }
}

const SURVIVES: Readonly<Record<Durability, string>> = {
  memory: 'lost with this process',
  relaxed: 'survives a crash; a power cut may take the last seconds',
  strict: 'survives a power cut',
  replicated: 'survives the loss of its primary',
}

const NAME = 10
const line = (name: string, text: string): string => `  ${name.padEnd(NAME)} ${text}`

/** A fact as it is printed. A terminal is not to break its words; command lines stay whole, to be copied. */
export const textOf = ({ text }: Fact, io: Pick<Io, 'isTTY' | 'columns'>): string =>
  io.isTTY && !text.includes('\n') ? hung(text, widthOf(io), NAME + 3) : text

export function factsOf(settings: Settings, { isDev, ports, store, durability, bodies }: Found): readonly Fact[] {
  const [port = 0, adminPort] = ports
  const scheme = settings.tlsCert === undefined ? 'http' : 'https'
  const shownHost = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  const url = `${scheme}://${shownHost}:${port}`
  const facts: Fact[] = [
    {
      text: line('store', `${store} (${SURVIVES[durability]})`),
      fields: { event: 'store', store, durability },
    },
    ...(bodies === undefined ? [] : [{ text: line('bodies', bodies), fields: { event: 'bodies', bodies } }]),
    { text: line('listening', url), fields: { event: 'listening', url } },
  ]
  if (settings.partitions > 1) facts.push(partitionsFact(settings))
  if (adminPort !== undefined) {
    const adminUrl = `${scheme}://${shownHost}:${adminPort}`
    facts.push({ text: line('operators', adminUrl), fields: { event: 'listening_admin', url: adminUrl } })
  }
  if (settings.ui) facts.push(inspectorFact(settings, `${scheme}:`, adminPort ?? port))
  const { tokens = [], role } = settings
  if (isDev) {
    const text = 'dev mode: no tokens, so everyone on this machine may do everything'
    facts.push({ text: line('callers', text), fields: { event: 'dev_mode' } })
  } else {
    const tenants = new Set(tokens.flatMap(({ tenant }) => tenant ?? [])).size
    const text = `${count(tokens.length, 'token')}, ${count(tenants, 'tenant')}`
    facts.push({ text: line('callers', text), fields: { event: 'tokens', tokens: tokens.length, tenants } })
  }
  const names = { credentials: Object.keys(settings.credentials), signing: Object.keys(settings.signing) }
  for (const [what, list] of Object.entries(names)) {
    if (list.length > 0) facts.push({ text: line(what, list.join(', ')), fields: { event: what, names: list } })
  }
  if (role !== 'api') facts.push(targetsFact(settings, isDev))
  if (role !== 'all') facts.push({ text: line('role', ROLES[role]), fields: { event: 'role', role } })
  const { policyId, strategy } = settings.defaultPolicy
  facts.push({
    text: line('policy', `${policyId}${strategy ? ` (${strategy})` : ''} for tasks that name none`),
    fields: { event: 'policy', policyId, ...(strategy && { strategy }) },
  })
  if (isDev && role === 'all' && scheme === 'http') facts.push({ text: trial(url), fields: { event: 'ready' } })
  else facts.push({ text: '', fields: { event: 'ready' } })
  return facts
}

/** An address that a browser on this machine can open, and whose name is answered to. */
function inspectorFact({ host, hostNames }: Settings, scheme: string, port: number): Fact {
  const any: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }
  const name = hostNames?.[0] ?? any[host] ?? (host.includes(':') ? `[${host}]` : host)
  const url = `${scheme}//${name}:${port}/ui`
  return { text: line('inspector', url), fields: { event: 'inspector', url } }
}

function partitionsFact({ partitions, partitionBy, concurrency, concurrencyPerOrigin }: Settings): Fact {
  const [all, one] = [shareOf(concurrency, partitions), shareOf(concurrencyPerOrigin, partitions)]
  const text = `${partitions} by ${partitionBy}, each with ${all} of ${concurrency} requests in flight, and ${one} to an origin`
  return {
    text: line('partitions', text),
    fields: { event: 'partitions', partitions, partitionBy, concurrency: all, concurrencyPerOrigin: one },
  }
}

const ROLES = { api: 'takes tasks; others send them', worker: 'sends what others have taken' } as const

function targetsFact(settings: Settings, isDev: boolean): Fact {
  const { targets, allowHttp, allowPrivate, egressProxy } = settings
  const schemes = allowHttp ? 'http and https' : 'https'
  const named = targets?.join(', ') ?? `any public address by ${schemes}, ports 80 and 443`
  const more = [
    ...(isDev ? ['this machine'] : []),
    ...(allowPrivate ? [`private ${allowPrivate.join(', ')}`] : []),
    ...(egressProxy === undefined ? [] : ['all by a proxy, which checks addresses itself']),
  ]
  const text = [named, ...more].join('; ')
  return { text: line('targets', text), fields: { event: 'targets', targets: text } }
}

/** A line for the clipboard: the service is asked to call itself, which needs no network. */
function trial(url: string): string {
  const task = JSON.stringify({ targetUrl: `${url}/healthz`, method: 'GET' })
  return [
    '',
    'Try it:',
    '',
    `  curl -s ${url}/retry-tasks -H 'content-type: application/json' -d '${task}'`,
    `  curl -s ${url}/retry-tasks`,
    '',
  ].join('\n')
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`
