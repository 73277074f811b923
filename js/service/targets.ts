/**
 * The names, schemes and ports that requests may go to, before any name is resolved: the operator's patterns, and the names that no
 * pattern opens. Everything is read by `new URL`, which is what the request is sent by too: whatever it makes of a spelling, both
 * see the same host.
 */

import { isIP } from 'node:net'

/** A pattern as it is compared. */
export interface TargetPattern {
  /** `https:` or `http:`; undefined: any that the service sends to. */
  readonly protocol: string | undefined
  /** A host as `new URL` spells it; for a wildcard, all of it after the `*`. undefined: any. */
  readonly host: string | undefined
  readonly isWildcard: boolean
  readonly port: string
}

/** The parts of a URL that rules are about. */
export interface Place {
  readonly protocol: string
  /** Spelled as `new URL` does, without a dot at its end. */
  readonly host: string
  /** Never empty. */
  readonly port: string
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** Ports that need no pattern. */
const OPEN_PORTS: ReadonlySet<string> = new Set(Object.values(DEFAULT_PORTS))

/** Names, and all names below them, that lead into the network of the service. RFC 6761, RFC 6762; .internal is reserved by ICANN. */
const INNER_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal'] as const

/** Names that clouds and systems give to metadata and to the host itself. */
const INNER_NAMES: ReadonlySet<string> = new Set([
  ...['metadata', 'metadata.goog', 'instance-data', 'metadata.tencentyun.com', 'metadata.platformequinix.com'],
  ...['ip6-localhost', 'ip6-loopback', 'broadcasthost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
])

/** RFC 1035, section 2.3.4. Underscores are in no host name of its, and in many that resolve. */
const [MAX_NAME, LABEL] = [253, /^[a-z0-9_-]{1,63}$/]

export function placeOf({ protocol, hostname, port }: URL): Place {
  return { protocol, host: hostname.replace(/\.$/, ''), port: port || (DEFAULT_PORTS[protocol] ?? '') }
}

/** The address that a host is spelled as, without the brackets of IPv6; undefined: it is a name. */
export function literalOf(host: string): string | undefined {
  const address = host.startsWith('[') ? host.slice(1, -1) : host
  return isIP(address) === 0 ? undefined : address
}

/** Whether a host is `localhost` or a name below it. RFC 6761, section 6.3. */
export function isLocalhost(host: string): boolean {
  return isBelow(host, 'localhost')
}

/** The reason why no service sends to this name, whatever its operator lists; undefined: there is none. */
export function innerName(host: string): string | undefined {
  const suffix = INNER_SUFFIXES.find((name) => isBelow(host, name))
  if (suffix) return `names that end in '${suffix}' lead into the network of the service`
  if (INNER_NAMES.has(host)) return 'this name leads to the host itself or to the metadata of a cloud'
  if (host.length > MAX_NAME || !host.split('.').every((label) => LABEL.test(label))) {
    return `a name has ${MAX_NAME} bytes at most, and parts of 1 to 63 letters, digits, '-' or '_'`
  }
  return undefined
}

const isBelow = (host: string, name: string): boolean => host === name || host.endsWith(`.${name}`)

/**
 * Reads a pattern: `https://api.example.com`, `https://*.example.com` (names below it, at any depth, not itself), either with a port,
 * or `:8443`, which is any name on that port.
 *
 * @throws TypeError for anything else, with the fix
 */
export function parsePattern(text: string): TargetPattern {
  const port = /^:(\d{1,5})$/.exec(text)?.[1]
  if (port !== undefined) {
    if (Number(port) < 1 || Number(port) > 65_535) throw wrong(text, 'its port is none; ports are 1 to 65535')
    return { protocol: undefined, host: undefined, isWildcard: false, port: String(Number(port)) }
  }
  const [, scheme, star, rest] = /^(https?:\/\/)(\*\.)?(.*)$/i.exec(text) ?? []
  if (scheme === undefined || rest === undefined) {
    throw wrong(
      text,
      'write one such as https://api.example.com, https://*.example.com, https://api.example.com:8443 or :8443',
    )
  }
  if (rest.includes('*'))
    throw wrong(text, "'*.' stands before a name, and nowhere else; leave out targets to allow every public name")
  const url = parsed(`${scheme}${rest}`)
  if (!url?.hostname) throw wrong(text, 'its name is none')
  if (url.username || url.password)
    throw wrong(text, 'it has a user name; credentials belong to the credentials of the config')
  if (url.pathname !== '/' || url.search || url.hash || /[?#]$/.test(text)) {
    throw wrong(text, `it has a path; a pattern ends after the name or port, as ${scheme}${star ?? ''}${url.host} does`)
  }
  const place = placeOf(url)
  const isAddress = literalOf(place.host) !== undefined
  if (star && isAddress) throw wrong(text, "an address has nothing below it; leave out '*.'")
  return { ...place, isWildcard: star !== undefined }
}

/** Whether a pattern holds this place. */
export function matches({ protocol, host, isWildcard, port }: TargetPattern, place: Place): boolean {
  if (port !== place.port || (protocol !== undefined && protocol !== place.protocol)) return false
  if (host === undefined) return true
  return isWildcard ? place.host.endsWith(`.${host}`) : place.host === host
}

/** Whether a port needs no pattern that names it. */
export const isOpenPort = (port: string): boolean => OPEN_PORTS.has(port)

/** A URL, or undefined where `text` is none. */
export function parsed(text: string): URL | undefined {
  return URL.parse(text) ?? undefined
}

function wrong(text: string, why: string): TypeError {
  return new TypeError(`targets: '${text}': ${why}`)
}
