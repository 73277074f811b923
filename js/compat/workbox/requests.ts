/** Requests as the platform has them, as Workbox stores them, and as a `RetryQueue` takes them. */

/** A request in Workbox's database. Only `url` and `headers` are certain. */
export interface RequestData {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: ArrayBuffer
  readonly method?: string
  readonly mode?: RequestMode
  readonly credentials?: RequestCredentials
  readonly cache?: RequestCache
  readonly redirect?: RequestRedirect
  readonly referrerPolicy?: ReferrerPolicy
  readonly integrity?: string
}

/** The parts that outlive a worker, beside URL, method, headers and body. `keepalive` is for pages, and a referrer is not stored. */
const PARTS = ['credentials', 'cache', 'redirect', 'referrerPolicy', 'integrity'] as const

const hasNoBody = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** No script can make a navigation: Workbox sends it as this, and so do we. */
const modeOf = (mode: RequestMode | undefined): RequestMode | undefined => (mode === 'navigate' ? 'same-origin' : mode)

/** Without what is not given: the platform would take `undefined` for a word. */
const initOf = (given: { readonly [K in keyof RequestInit]: RequestInit[K] | undefined }): RequestInit =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))

/** Throws a TypeError for what the platform takes for no request. */
export function requestOf(data: RequestData): Request {
  const { url, headers, body, method = 'GET' } = data
  const parts = Object.fromEntries(PARTS.map((name) => [name, data[name]]))
  const bytes = body?.byteLength && !hasNoBody(method) ? body : undefined
  return new Request(url, initOf({ ...parts, method, headers, mode: modeOf(data.mode), body: bytes }))
}

/** The arguments of `enqueue` for a request, whose body is used up. */
export async function argumentsOf(request: Request): Promise<readonly [url: string, init: RequestInit]> {
  const { url, method, headers, mode } = request
  const body = hasNoBody(method) ? undefined : await request.arrayBuffer()
  const parts = Object.fromEntries(PARTS.map((name) => [name, request[name] || undefined]))
  const bytes = body?.byteLength ? body : undefined
  return [url, initOf({ ...parts, method, headers, mode: modeOf(mode), body: bytes })]
}

/** Throws where all answers look alike, so that no queue takes the request. */
export function assertQueueable({ mode, method, url }: Request): void {
  if (mode !== 'no-cors') return
  const { origin, pathname } = new URL(url)
  const why = "a 'no-cors' answer has no status, so a failure looks like a success"
  throw new TypeError(`${method} ${origin}${pathname}: ${why}; send it with mode: 'cors', or with fetch alone`)
}
