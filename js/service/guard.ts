/**
 * Decides where requests may go. A retry service sends what strangers ask it to send, from inside a network that trusts it: without
 * a guard it is a door into that network (SSRF, OWASP API7:2023). Everything that is not allowed is refused, by scheme, by name, by
 * port and by address, and a name is judged by every address that it leads to.
 *
 * `check` needs no network and is asked when a task is accepted and before each request. `resolve` is asked for each connection;
 * its answer is what is connected to, so no second lookup can say anything else.
 */

import { type Clock, RedriveError } from 'redrive'
import type { UnmadeError } from 'redrive/internal'
import { type AddressRule, type Cidr, isLoopback, parseCidr, refusalOf } from './addresses.ts'
import { openNames } from './name-servers.ts'
import type { Asking, Lookup, Names } from './names.ts'
import {
  innerName,
  isLocalhost,
  isOpenPort,
  literalOf,
  matches,
  parsed,
  parsePattern,
  placeOf,
  type TargetPattern,
} from './targets.ts'

/** The rule that refused a target. A label of `redrive_target_refused_total`. */
export type RefusalRule = 'url' | 'scheme' | 'userinfo' | 'name' | 'targets' | 'port' | AddressRule

/** The reason why a request may not go to a target. */
export interface Refusal {
  readonly rule: RefusalRule
  /** Names the target by its origin, says what is wrong and what to do. Never has an address that a name leads to. */
  readonly message: string
}

/** `TARGET_REFUSED`: a request was not sent, since its target is refused by a rule. To try again changes nothing until the rule or the target does. */
export class TargetRefusedError extends RedriveError implements UnmadeError {
  override readonly name = 'TargetRefusedError'
  readonly unmade = { reason: 'target_refused' } as const
  readonly rule: RefusalRule
  constructor({ rule, message }: Refusal) {
    super('TARGET_REFUSED', message)
    this.rule = rule
  }
}

export interface GuardOptions {
  /** Sends over `http:` too, which anyone on the way can read and change. @default false */
  readonly allowHttp?: boolean
  /** Ranges of refused addresses that are opened, such as `10.1.0.0/16`. Metadata addresses are opened only one by one. @default [] */
  readonly allowPrivate?: readonly string[] | undefined
  /**
   * The only targets: `https://api.example.com`, `https://*.example.com`, either with a port, or `:8443` for any name on that port.
   * @default every public name, on ports 80 and 443
   */
  readonly targets?: readonly string[] | undefined
  /**
   * For development: `localhost`, names below it and loopback addresses are targets too, on any port, by `http:` too, and whether
   * `targets` has them or not. They must lead to the host itself. @default false
   */
  readonly allowLoopback?: boolean
  /** Longest wait for a name's addresses, in milliseconds: the attempt is given back then. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /** Hears of each refusal, for counting. */
  readonly onRefused?: (rule: RefusalRule) => void
  /** Finds addresses in the place of name servers and the hosts file. @default none */
  readonly lookup?: Lookup
  /** Name servers that are asked: addresses, with a port where it is not 53, such as `[fd00::53]:5353`. @default the system's */
  readonly dnsServers?: readonly string[]
  /** Shared by guards, so that a name is asked for once. @default made of these options */
  readonly names?: Names
  /** @default the system's */
  readonly clock?: Clock
}

export interface Guard {
  /** The reason why no request may go to `url`, as far as that shows without a network; undefined: there is none. */
  check(url: string | URL): Refusal | undefined
  /**
   * The addresses of a host of a URL, all of them checked.
   *
   * @throws TargetRefusedError where any of them is refused: a mixed answer is an attack or a mistake
   * @throws NameUnresolvedError where no server has said yet where the name leads
   * @throws Error of the code ENOTFOUND or ENODATA where it leads nowhere
   */
  resolve(hostname: string, asking?: Partial<Asking>): Promise<readonly string[]>
  /** The error for a connection of `hostname` that was made to `address`; undefined: it may be used. */
  refuseAddress(hostname: string, address: string): TargetRefusedError | undefined
}

/** @throws TypeError for a pattern or range that is none, or that opens nothing, with the fix */
export function makeGuard(options: GuardOptions = {}): Guard {
  return new TargetGuard(options)
}

/** A rule, and what is wrong by it. */
type Finding = readonly [rule: RefusalRule, why: string]

class TargetGuard implements Guard {
  readonly #options: GuardOptions
  readonly #opened: readonly Cidr[]
  readonly #patterns: readonly TargetPattern[] | undefined
  readonly #names: Names

  constructor(options: GuardOptions) {
    this.#options = options
    this.#opened = (options.allowPrivate ?? []).map((range) => parseCidr(range, 'allowPrivate'))
    this.#patterns = options.targets?.map((text) => this.#soundPattern(text))
    this.#names = options.names ?? openNames(options).names
  }

  check(given: string | URL): Refusal | undefined {
    const url = typeof given === 'string' ? parsed(given) : given
    const [rule, why] = url ? (this.#findIn(url) ?? []) : NO_URL
    if (rule === undefined) return undefined
    const what = url ? `'${url.protocol}//${url.host}'` : 'the target'
    return this.#refusal(rule, `${what} is refused: ${why}`)
  }

  async resolve(
    hostname: string,
    { tenant = null, withinMs = Number.POSITIVE_INFINITY }: Partial<Asking> = {},
  ): Promise<readonly string[]> {
    const literal = literalOf(hostname)
    const forMs = Math.min(withinMs, this.#options.lookupTimeoutMs ?? 2_000)
    const addresses =
      literal === undefined ? await this.#names.addressesOf(hostname, { tenant, withinMs: forMs }) : [literal]
    for (const address of addresses) {
      const error = this.refuseAddress(hostname, address)
      if (error) throw error
    }
    return addresses
  }

  refuseAddress(hostname: string, address: string): TargetRefusedError | undefined {
    const host = hostname.replace(/\.$/, '')
    const [rule, why] = this.#findAt(host, address) ?? []
    return rule && new TargetRefusedError(this.#refusal(rule, `'${host}' is refused: ${why}`))
  }

  #findIn(url: URL): Finding | undefined {
    if (url.username || url.password) {
      return ['userinfo', 'it has a user name or password; send them in a header, from a credential']
    }
    const place = placeOf(url)
    const { protocol, host, port } = place
    if (protocol !== 'https:' && protocol !== 'http:') return ['scheme', 'only https: is sent to']
    if (this.#isHere(host)) return undefined
    if (protocol === 'http:' && !this.#options.allowHttp) {
      return ['scheme', 'only https: is sent to, unless the service allows http']
    }
    const literal = literalOf(host)
    const inner = literal === undefined ? innerName(host) : undefined
    if (inner) return ['name', `${inner}; use a public name`]
    if (this.#patterns && !this.#patterns.some((pattern) => matches(pattern, place))) {
      return [
        'targets',
        'it is none of the targets that the service allows; its operator can add it to --targets (targets), port included',
      ]
    }
    if (!this.#patterns && !isOpenPort(port)) {
      return ['port', 'only ports 80 and 443 are sent to, unless targets name another']
    }
    return literal === undefined ? undefined : this.#findAt(host, literal)
  }

  #findAt(host: string, address: string): Finding | undefined {
    const mustBeHere = this.#isHere(host)
    if (mustBeHere && isLoopback(address)) return undefined
    const rule = refusalOf(address, this.#opened)
    if (rule) return [rule, wordsOf(rule)]
    // its requests may be in the clear
    return mustBeHere ? ['name', 'it leads to another host; correct the hosts file or the resolver'] : undefined
  }

  /** Whether a host, by its own spelling, is the one that the service runs on, and may be sent to. */
  #isHere(host: string): boolean {
    if (!this.#options.allowLoopback) return false
    const literal = literalOf(host)
    return literal === undefined ? isLocalhost(host) : isLoopback(literal)
  }

  #soundPattern(text: string): TargetPattern {
    const pattern = parsePattern(text)
    const { protocol, host } = pattern
    if (host === undefined || this.#isHere(host)) return pattern
    const faults: string[] = []
    const literal = literalOf(host)
    if (literal === undefined) {
      const inner = innerName(host)
      if (inner) throw new TypeError(`targets: '${text}' is never sent to: ${inner}; use another name`)
    } else {
      const rule = refusalOf(literal, this.#opened)
      if (rule) faults.push(`is a refused address (${rule}); open its range with --allow-private (allowPrivate)`)
    }
    if (protocol === 'http:' && !this.#options.allowHttp)
      faults.push('is sent to in the clear; write https:, or give --allow-http (allowHttp)')
    if (faults.length > 0) throw new TypeError(`targets: '${text}' ${faults.join('. It ')}`)
    return pattern
  }

  #refusal(rule: RefusalRule, message: string): Refusal {
    this.#options.onRefused?.(rule)
    return { rule, message }
  }
}

const NO_URL: Finding = ['url', 'it is no URL; write it whole, such as https://api.example.com/path']

function wordsOf(rule: AddressRule): string {
  if (rule === 'unreadable') return 'it leads to what is no address that could be checked; check the resolver'
  return `it leads to a refused address (${rule}); use a public target, or open the range with allowPrivate`
}
