/** Addresses of a Redis that Sentinel watches: `redis-sentinel://[user:password@]host:port,host:port/name-of-the-primary[?...]`. */

const SCHEME = 'redis-sentinel://'
const PORT = 26_379

export interface SentinelUrl {
  /** User and password with their `@`, as they stand there; '': none. */
  readonly login: string
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  /** The name of the primary; '': it is missing. */
  readonly name: string
  /** All that comes after it. */
  readonly rest: string
}

/** undefined: the address is of another kind. */
export function sentinelUrl(url: string): SentinelUrl | undefined {
  if (!url.startsWith(SCHEME)) return undefined
  const [authority = '', ...path] = url.slice(SCHEME.length).split('/')
  const at = authority.lastIndexOf('@') + 1
  const after = path.join('/')
  const end = after.indexOf('?')
  return {
    login: authority.slice(0, at),
    sentinels: authority.slice(at).split(',').map(sentinelAt),
    name: end < 0 ? after : after.slice(0, end),
    rest: end < 0 ? '' : after.slice(end),
  }
}

function sentinelAt(text: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname, port: Number(port || PORT) }
}
