/**
 * Addresses of several servers: `redis-sentinel://[user:password@]host:port,host:port/name-of-the-primary[?...]` of those that Sentinel watches,
 * `redis-cluster://[user:password@]host:port,host:port` of some nodes of a cluster.
 */

const SENTINEL = 'redis-sentinel://'
const CLUSTER = 'redis-cluster://'
const SENTINEL_PORT = 26_379
const PORT = 6_379

export interface HostPort {
  readonly host: string
  readonly port: number
}

export interface SentinelUrl {
  /** User and password with their `@`, as they stand there; '': none. */
  readonly login: string
  readonly sentinels: readonly HostPort[]
  /** The name of the primary; '': it is missing. */
  readonly name: string
  /** All that comes after it. */
  readonly rest: string
}

/** undefined: the address is of another kind. */
export function sentinelUrl(url: string): SentinelUrl | undefined {
  if (!url.startsWith(SENTINEL)) return undefined
  const [authority = '', ...path] = url.slice(SENTINEL.length).split('/')
  const { login, hosts } = readAuthority(authority, SENTINEL_PORT)
  const after = path.join('/')
  const end = after.indexOf('?')
  return {
    login,
    sentinels: hosts,
    name: end < 0 ? after : after.slice(0, end),
    rest: end < 0 ? '' : after.slice(end),
  }
}

export interface ClusterUrl {
  /** User and password, as in a `SentinelUrl`. */
  readonly login: string
  /** At least one of them has to be there: it knows the others. */
  readonly nodes: readonly HostPort[]
}

/** undefined: the address is of another kind. */
export function clusterUrl(url: string): ClusterUrl | undefined {
  if (!url.startsWith(CLUSTER)) return undefined
  const [authority = ''] = url.slice(CLUSTER.length).split('/')
  const { login, hosts } = readAuthority(authority, PORT)
  return { login, nodes: hosts }
}

/** The address without user and password, for people. A password may have any character in it, those of addresses too. */
export function withoutLogin(url: string): string {
  const at = url.lastIndexOf('@')
  return at < 0 ? url : `${url.slice(0, url.indexOf('//') + 2)}${url.slice(at + 1)}`
}

/** The words for a server that did answer, and with this; undefined: it did not. */
export const refusalIn = (reason: string): string | undefined =>
  /^(WRONGPASS|NOAUTH|NOPERM)\b|DB index is out of range/.test(reason)
    ? `refuses what it was asked (${reason}): check the user, password or database in --store`
    : undefined

/** The user and the password of a login, those that are there. */
export function accountIn(login: string): { readonly username?: string; readonly password?: string } {
  const [name = '', ...rest] = login.slice(0, -1).split(':')
  const [username, password] = [decodeURIComponent(name), decodeURIComponent(rest.join(':'))]
  return { ...(username && { username }), ...(password && { password }) }
}

function readAuthority(authority: string, usualPort: number): { readonly login: string; readonly hosts: HostPort[] } {
  const at = authority.lastIndexOf('@') + 1
  const hosts = authority.slice(at).split(',')
  return { login: authority.slice(0, at), hosts: hosts.map((text) => hostPortIn(text, usualPort)) }
}

function hostPortIn(text: string, usual: number): HostPort {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || usual) }
}

/** The form that it has in a URL. */
export const authorityOf = ({ host, port }: HostPort): string => `${host.includes(':') ? `[${host}]` : host}:${port}`
