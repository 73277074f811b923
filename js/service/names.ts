/**
 * The names of targets: each is asked for once at a time, within a share of its tenant, and its addresses are kept for as long as its records
 * say. Strangers choose names, and the servers of a name may be silent: such a name costs its own tenant a few places here, and no other one
 * anything.
 *
 * An attempt counts once its name is known, or known to lead nowhere. While no server has said either, nothing could be sent, and it is given
 * back.
 */

import { type Clock, RedriveError } from 'redrive'
import { type UnmadeError, within } from 'redrive/internal'
import { Places } from './places.ts'

/** The addresses that a name leads to. `ttl`: the seconds that one may be kept; absent: it is for this once. Rejects as `dns.resolve4` does. */
export type Lookup = (hostname: string) => Promise<readonly { readonly address: string; readonly ttl?: number }[]>

/** A tenant that asks for a name, and how long it waits. */
export interface Asking {
  readonly tenant: string | null
  /** In milliseconds. */
  readonly withinMs: number
}

/** `NAME_UNRESOLVED`: no server has said yet where a name leads. The attempt is given back, and made later. */
class NameUnresolvedError extends RedriveError implements UnmadeError {
  override readonly name = 'NameUnresolvedError'
  readonly unmade = {}
  constructor(hostname: string, why: string, cause?: unknown) {
    super('NAME_UNRESOLVED', `the addresses of '${hostname}' are not known yet: ${why}`)
    if (cause !== undefined) this.cause = cause
  }
}

/** Names that are looked up at once. Each is two questions, and dnsmasq takes 150 at a time by default (`--dns-forward-max`). */
const MOST_AT_ONCE = 50
/** Names of one tenant that wait for a place. Another one that it asks for meanwhile has to be asked for again. */
const MOST_WAITING = 1_000
/** The longest lookup: what glibc allows a server, with its second try. */
const LOOKUP_MS = 10_000
/** A changed record applies after so long, whatever its old one says. */
const MOST_KEPT_MS = 60_000
/** An answer that came when no one waited any more is there for the next attempt, even if it is to be kept for no time. */
const UNHEARD_MS = 30_000
/** How long it is remembered that there is no such name. */
const NOT_FOUND_MS = 2_000
/** A name that no server knew of is left alone for so long. */
const UNRESOLVED_MS = 5_000
const MOST_KNOWN = 10_000
/** Addresses of one name; a connection tries one after another. */
const MOST_ADDRESSES = 64

const NOT_FOUND: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

/** Whether an error says that a name leads nowhere, rather than that no server knows. */
export const isNotFound = (error: unknown): boolean =>
  NOT_FOUND.has((error as { readonly code?: unknown } | null)?.code)

interface Known {
  readonly until: number
  readonly addresses?: readonly string[]
  /** Absent with neither: it is left alone. */
  readonly error?: unknown
}

/** A lookup that waits for its place, or is under way. */
interface Asked {
  readonly hostname: string
  readonly found: Promise<readonly string[]>
  begin(): void
  isBegun: boolean
  /** How many wait for it. */
  heard: number
}

export interface NamesOptions {
  readonly clock: Clock
  readonly find: Lookup
  /** Gives what is known without a question. */
  local?(hostname: string): readonly string[] | undefined
}

export class Names {
  readonly #options: NamesOptions
  readonly #known = new Map<string, Known>()
  readonly #asked = new Map<string, Asked>()
  /** Lookups that wait, by tenant; the first one has the next turn. */
  readonly #lines = new Map<string | null, Set<Asked>>()
  readonly #places = new Places<string | null>(MOST_AT_ONCE)

  constructor(options: NamesOptions) {
    this.#options = options
  }

  /**
   * Its addresses, one at least.
   *
   * @throws NameUnresolvedError where no server has said by then
   * @throws Error of the code ENOTFOUND or ENODATA where it leads nowhere
   */
  async addressesOf(hostname: string, { tenant, withinMs }: Asking): Promise<readonly string[]> {
    const { clock, local } = this.#options
    const here = local?.(hostname)
    if (here) return here
    const until = clock.monotonic() + withinMs
    const tooLong = (): NameUnresolvedError =>
      new NameUnresolvedError(hostname, `no answer of a name server within ${withinMs} ms`)
    for (;;) {
      const now = clock.monotonic()
      const known = this.#known.get(hostname)
      if (!known || known.until <= now) {
        const asked = this.#ask(hostname, tenant)
        // it says what it is kept from when its time is over
        if (!asked) await this.#pause(until - now)
        else return this.#heard(asked, until - now, tooLong)
      } else if (known.addresses) return known.addresses
      else if (known.error !== undefined) throw known.error
      else await this.#pause(Math.min(known.until, until) - now)
      if (clock.monotonic() >= until) throw tooLong()
    }
  }

  async #heard(asked: Asked, forMs: number, tooLong: () => Error): Promise<readonly string[]> {
    const { clock } = this.#options
    asked.heard++
    try {
      return await within(clock, forMs, 'a lookup', asked.found)
    } catch (error) {
      throw error instanceof DOMException ? tooLong() : error
    } finally {
      asked.heard--
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve))
  }

  /** The lookup of a name, lined up for a place; undefined: the tenant has too many in line. */
  #ask(hostname: string, tenant: string | null): Asked | undefined {
    const known = this.#asked.get(hostname)
    if (known?.isBegun) return known
    const line = this.#lines.get(tenant) ?? new Set()
    if (known && line.has(known)) return known
    if (line.size >= MOST_WAITING) return undefined
    const asked = known ?? this.#newly(hostname)
    this.#asked.set(hostname, asked)
    this.#lines.set(tenant, line.add(asked))
    this.#fill()
    return asked
  }

  #newly(hostname: string): Asked {
    let resolve: (found: Promise<readonly string[]>) => void = () => {}
    const found = new Promise<readonly string[]>((settle) => {
      resolve = settle
    })
    // it may be that no one waits for it any more
    found.catch(() => {})
    const asked: Asked = { hostname, found, begin: () => resolve(this.#lookUp(asked)), isBegun: false, heard: 0 }
    return asked
  }

  async #lookUp(asked: Asked): Promise<readonly string[]> {
    const { clock, find } = this.#options
    const { hostname } = asked
    try {
      const records = await within(clock, LOOKUP_MS, `the lookup of '${hostname}'`, find(hostname))
      if (records.length === 0) throw leadsNowhere(hostname)
      const some = records.slice(0, MOST_ADDRESSES)
      const addresses = some.map(({ address }) => address)
      const ttlMs = Math.min(MOST_KEPT_MS, ...some.map(({ ttl = 0 }) => ttl * 1_000))
      this.#keep(hostname, asked.heard > 0 ? ttlMs : Math.max(ttlMs, UNHEARD_MS), { addresses })
      return addresses
    } catch (error) {
      if (!isNotFound(error)) {
        this.#keep(hostname, UNRESOLVED_MS, {})
        throw new NameUnresolvedError(hostname, reasonOf(error), error)
      }
      this.#keep(hostname, NOT_FOUND_MS, { error })
      throw error
    }
  }

  #keep(hostname: string, forMs: number, what: Omit<Known, 'until'>): void {
    this.#known.delete(hostname)
    if (forMs > 0) this.#known.set(hostname, { until: this.#options.clock.monotonic() + forMs, ...what })
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest)
  }

  /** Begins whatever there is a place for. */
  #fill(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const { asked, leave } = next
      asked.isBegun = true
      const end = (): void => {
        this.#asked.delete(asked.hostname)
        leave()
        this.#fill()
      }
      asked.found.then(end, end)
      asked.begin()
    }
  }

  /** Tenants take turns, and none takes the places that others need. */
  #next(): { readonly asked: Asked; leave(): void } | undefined {
    for (const [tenant, line] of this.#lines) {
      // another tenant may have begun it meanwhile
      for (const asked of line) if (asked.isBegun) line.delete(asked)
      const [asked] = line
      const leave = asked && this.#places.take(tenant)
      if (asked && !leave) continue
      this.#lines.delete(tenant)
      if (!asked || !leave) continue
      line.delete(asked)
      if (line.size > 0) this.#lines.set(tenant, line)
      return { asked, leave }
    }
    return undefined
  }
}

export function leadsNowhere(hostname: string): Error {
  const message = `'${hostname}' has no address; check its name and its records`
  return Object.assign(new Error(message), { code: 'ENOTFOUND' })
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
