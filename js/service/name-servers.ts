/**
 * Asks name servers where names lead, as the system would. `dns.lookup` asks by the system itself, in two threads of the whole process: two names
 * whose servers are silent keep every other one waiting. Here each question is a packet, and no question waits for another.
 *
 * What the system's lookup heeds is heeded here: the hosts file, `localhost`, search domains and `ndots`, the servers of `/etc/resolv.conf`, and a
 * change of any of them within a second. Modules of the system's own, such as those for mDNS or LDAP, are not asked.
 */

import { getDefaultResultOrder } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP, SocketAddress } from 'node:net'
import { networkInterfaces } from 'node:os'
import process from 'node:process'
import type { Clock } from 'redrive'
import { systemClock } from 'redrive/internal'
import { isNotFound, type Lookup, leadsNowhere, Names } from './names.ts'
import { isLocalhost } from './targets.ts'

/** A packet may be lost, and a server down: the question is asked once more after so long, of the next server if there is one. */
const AGAIN_MS = [1_000, 3_000] as const
/** How long a question stays open. An answer to an earlier packet counts as well. */
const OPEN_MS = 10_000
/** Servers exist that answer for IPv4 and leave a question for IPv6 open: with addresses of one kind, the other is waited for so long. */
const OTHER_MS = 250
/** Between two looks at the files of the system. */
const LOOK_MS = 1_000

const IS_WINDOWS = process.platform === 'win32'
interface SystemFiles {
  readonly hosts: string
  readonly resolv: string
}

const SYSTEM_FILES: SystemFiles = {
  hosts: IS_WINDOWS ? `${process.env.SystemRoot ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts` : '/etc/hosts',
  resolv: '/etc/resolv.conf',
}

export interface NameServersOptions {
  readonly clock: Clock
  /** Addresses, each with a port if it is not 53. @default the system's */
  readonly servers?: readonly string[] | undefined
  /** For tests. @default the system's */
  readonly files?: SystemFiles
}

type Found = Awaited<ReturnType<Lookup>>

export class NameServers {
  readonly #options: NameServersOptions
  #lookedAt = Number.NEGATIVE_INFINITY
  #hostsText = ''
  #hosts: ReadonlyMap<string, readonly string[]> = new Map()
  #search: Search = { domains: [], ndots: 1 }
  #given = ''
  /** The one that answered last comes first. */
  #servers: readonly string[] = []
  readonly #open = new Set<Resolver>()
  #isClosed = false

  constructor(options: NameServersOptions) {
    this.#options = options
  }

  /** Where the hosts file says that a name leads, or the rules of names themselves. */
  local(hostname: string): readonly string[] | undefined {
    this.#look()
    const host = hostname.replace(/\.$/, '')
    // RFC 6761, section 6.3: no server is asked
    return this.#hosts.get(host) ?? (isLocalhost(host) ? ['127.0.0.1', '::1'] : undefined)
  }

  readonly find: Lookup = async (hostname) => {
    let failure: unknown
    for (const name of spellings(hostname, this.#search)) {
      try {
        const found = await this.#both(name)
        if (found.length > 0) return found
      } catch (error) {
        // a domain of the search list whose servers fail says nothing about the others
        if ((error as { readonly code?: unknown }).code !== 'ESERVFAIL') throw error
        failure = error
      }
    }
    throw failure ?? leadsNowhere(hostname)
  }

  /** Ends all questions. */
  close(): void {
    this.#isClosed = true
    for (const server of this.#open) server.cancel()
  }

  #look(): void {
    const { clock, servers, files = SYSTEM_FILES } = this.#options
    const now = clock.monotonic()
    if (now - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = now
    const text = textOf(files.hosts)
    if (text !== this.#hostsText) {
      this.#hostsText = text
      this.#hosts = hostsIn(text)
    }
    this.#search = searchIn(textOf(files.resolv))
    const addresses = servers ?? new Resolver().getServers()
    if (addresses.join() === this.#given) return
    this.#given = addresses.join()
    this.#servers = addresses
  }

  /** Its addresses of both kinds; none where it has none. */
  async #both(name: string): Promise<Found> {
    const found: { [family: number]: Found } = {}
    let failure: unknown
    const asks = FAMILIES.map(async (family) => {
      try {
        found[family] = await this.#ask(name, family)
      } catch (error) {
        failure ??= error
      }
      return (found[family] ?? []).length > 0
    })
    const all = Promise.all(asks)
    const soon = asks.map(async (asked) => ((await asked) ? this.#pause(OTHER_MS) : all))
    await Promise.race([all, ...soon])
    const [first, second] = preferred()
    const some = [...(found[first] ?? []), ...(found[second] ?? [])]
    if (some.length === 0 && failure !== undefined) throw failure
    return some
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve, true))
  }

  /** The first answer of any server; nothing where there is no such name. */
  async #ask(name: string, family: Family): Promise<Found> {
    const servers = this.#servers
    const asked = new Set<Resolver>()
    const disarms: (() => void)[] = []
    try {
      return await new Promise((resolve, reject) => {
        let count = 0
        let open = 0
        const next = (): void => {
          const address = servers[count++ % servers.length]
          if (address === undefined || this.#isClosed) {
            reject(new Error('no name server is asked any more'))
            return
          }
          open++
          const server = freshly(address)
          asked.add(server)
          this.#open.add(server)
          questionTo(server, name, family).then(
            (records) => {
              this.#prefer(address, servers)
              resolve(records)
            },
            (error) => {
              open--
              if (count < servers.length) next()
              else if (open === 0) reject(error)
            },
          )
        }
        for (const ms of AGAIN_MS) disarms.push(this.#options.clock.after(ms, next))
        next()
      })
    } finally {
      for (const disarm of disarms) disarm()
      for (const server of asked) {
        this.#open.delete(server)
        server.cancel()
      }
    }
  }

  #prefer(address: string, servers: readonly string[]): void {
    if (address === servers[0] || this.#servers !== servers) return
    this.#servers = [address, ...servers.filter((each) => each !== address)]
  }
}

/**
 * One for each question: of a server that has been quick, c-ares waits no longer than a second (1.34), and so finds no name that is slow.
 */
function freshly(address: string): Resolver {
  const server = new Resolver({ timeout: OPEN_MS, maxTimeout: OPEN_MS, tries: 1 })
  server.setServers([address])
  return server
}

async function questionTo(server: Resolver, name: string, family: Family): Promise<Found> {
  try {
    return await (family === 4 ? server.resolve4(name, { ttl: true }) : server.resolve6(name, { ttl: true }))
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

type Family = 4 | 6
const FAMILIES: readonly Family[] = [4, 6]

/** The order of Node's `--dns-result-order`. By default IPv6 comes first where this host has an address that others can reach. */
function preferred(): readonly [Family, Family] {
  const order = getDefaultResultOrder()
  if (order !== 'verbatim') return order === 'ipv6first' ? [6, 4] : [4, 6]
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.some((each) => each.family === 'IPv6' && !each.internal && each.scopeid === 0) ? [6, 4] : [4, 6]
}

/** resolv.conf(5) */
interface Search {
  readonly domains: readonly string[]
  readonly ndots: number
}

function searchIn(text: string): Search {
  let domains: readonly string[] = []
  let ndots = 1
  for (const line of text.split('\n')) {
    const [key, ...words] = line.trim().split(/\s+/)
    // the last of them counts
    if (key === 'search' || key === 'domain') domains = words.map((word) => word.replace(/\.$/, '')).filter(Boolean)
    if (key === 'options') ndots = Number(/\bndots:(\d{1,2})\b/.exec(line)?.[1] ?? ndots)
  }
  return { domains, ndots: Math.min(ndots, 15) }
}

/** The names that a name may stand for, in the order in which they are asked for. */
function spellings(hostname: string, { domains, ndots }: Search): readonly string[] {
  if (hostname.endsWith('.')) return [hostname]
  const below = domains.map((domain) => `${hostname}.${domain}`).filter(({ length }) => length <= 253)
  return hostname.split('.').length > ndots ? [hostname, ...below] : [...below, hostname]
}

/** hosts(5) */
function hostsIn(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '')
      hosts.set(key, [...new Set([...(hosts.get(key) ?? []), address])])
    }
  }
  return hosts
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // there is none, as on Windows
  }
}

export interface OpenNames {
  readonly names: Names
  /** Ends what is being asked. */
  close(): void
}

/** Names that are found by `lookup`, else by name servers. */
export function openNames({
  lookup,
  dnsServers: servers,
  clock = systemClock,
}: {
  readonly lookup?: Lookup | undefined
  readonly dnsServers?: readonly string[] | undefined
  readonly clock?: Clock | undefined
}): OpenNames {
  if (lookup) return { names: new Names({ clock, find: lookup }), close: () => {} }
  const wrong = servers?.find((address) => !isNameServer(address))
  if (wrong !== undefined || servers?.length === 0) {
    throw new TypeError(`dnsServers: expected addresses such as 10.0.0.53 or [fd00::53]:5353, got '${wrong ?? ''}'`)
  }
  const asked = new NameServers({ clock, servers })
  const local = (hostname: string): readonly string[] | undefined => asked.local(hostname)
  return { names: new Names({ clock, find: asked.find, local }), close: () => asked.close() }
}

/** Whether a text is the address of a name server: `10.0.0.53`, `10.0.0.53:5353`, `[fd00::53]:5353`. */
export const isNameServer = (text: string): boolean => isIP(text) !== 0 || SocketAddress.parse(text) !== undefined
