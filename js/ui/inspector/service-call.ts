/** Calls of a retry service from a page, and its refusals (RFC 9457) as one sentence. The token is kept here, in memory alone. */

import { errorText, systemClock, timeoutError } from 'redrive/internal'
import { InspectorError } from './source.ts'

export interface ServiceSourceOptions {
  /** Where the service listens. @default the page's own origin */
  readonly url?: string
  /** Kept in memory, and sent to that service alone. @default none; one is asked for where the service wants it */
  readonly token?: string
  /** The tenant to act for, with an admin token that has none of its own. @default all */
  readonly tenant?: string
  /** @default the page's */
  readonly fetch?: typeof fetch
}

/** A refusal that its status shows, too. */
export class ServiceError extends InspectorError {
  readonly status: number
  constructor(message: string, status: number, more: ConstructorParameters<typeof InspectorError>[1]) {
    super(message, more)
    this.status = status
  }
}

export type ServiceCall = <T>(method: string, path: string, json?: unknown) => Promise<T>

const LONGEST_MS = 30_000

export interface ServiceCaller {
  /** Without a slash at its end. */
  readonly base: string
  readonly call: ServiceCall
  setToken(token: string): void
}

export function serviceCaller(options: ServiceSourceOptions): ServiceCaller {
  const { tenant } = options
  let { token } = options
  const address = globalThis.location?.href
  // a frame by `srcdoc` has an address from which no URL can start
  const from = address?.startsWith('about:') ? document.baseURI : address
  const base = new URL(options.url || '/', from).href.replace(/\/$/, '')
  const call = async <T>(method: string, path: string, json?: unknown): Promise<T> => {
    const headers: Record<string, string> = { accept: 'application/json' }
    if (token) headers.authorization = `Bearer ${token}`
    if (tenant) headers['redrive-tenant'] = tenant
    if (json !== undefined) headers['content-type'] = 'application/json'
    const send = options.fetch ?? fetch
    const limit = new AbortController()
    const late = () => limit.abort(timeoutError(`no answer within ${LONGEST_MS / 1_000} s`))
    const disarm = systemClock.after(LONGEST_MS, late)
    const ask = async () => {
      const response = await send(base + path, {
        method,
        headers,
        // a token belongs to one service, and cookies to none
        redirect: 'error',
        credentials: 'omit',
        cache: 'no-store',
        signal: limit.signal,
        ...(json !== undefined && { body: JSON.stringify(json) }),
      })
      return [response, await response.text()] as const
    }
    const failed = (error: unknown) => {
      throw new InspectorError(`${base} does not answer (${errorText(error)})`)
    }
    const [response, text] = await ask().catch(failed).finally(disarm)
    const value = parsed(text)
    if (!response.ok) throw refusal(base, response, value)
    if (text !== '' && value === undefined) throw new InspectorError(`${base} answers, but not as a retry service does`)
    return value as T
  }
  return {
    base,
    call,
    setToken(given) {
      token = given
    },
  }
}

/** undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refusal(base: string, { status, headers }: Response, value: unknown): ServiceError {
  const { type, title, detail } = (value ?? {}) as Readonly<Record<string, unknown>>
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ServiceError(String(detail ?? title ?? `${base} answers ${status}`), status, {
    needsToken: status === 401,
    ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }),
    isKeyExpired: String(type).endsWith(':key-expired'),
  })
}
