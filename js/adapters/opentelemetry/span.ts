/**
 * Names and attributes of an attempt's span, by the semantic conventions for HTTP clients (stable, 1.23 and later). No header, key
 * or body is among them, and no error's message, which may quote any of these (S12).
 */

import type { Attributes } from '@opentelemetry/api'
import type { Finished } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import { OUTCOME_TIMED_OUT } from '../../core/codes.ts'
import type { Sanitizer } from '../../core/sanitizer.ts'

/** Any other is `_OTHER`: a method may be any word. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])
/** The shape of an error's name. */
const NAME = /^[A-Za-z_$][\w$.]{0,63}$/

export interface Server {
  readonly 'server.address': string
  readonly 'server.port'?: number
}

/** By the convention a span of a method that it does not know is named HTTP. */
export const nameOf = ({ method }: Call): string => (METHODS.has(method) ? method : 'HTTP')

export const methodOf = ({ method }: Call): string => (METHODS.has(method) ? method : '_OTHER')

export function serverOf(origin: string): Server {
  const { hostname, port, protocol } = new URL(origin)
  const standard = protocol === 'https:' ? 443 : 80
  return { 'server.address': hostname.replace(/^\[|\]$/g, ''), 'server.port': Number(port) || standard }
}

/** Attributes that are known before the request is sent: samplers decide by them. */
export function requestAttributes(call: Call, sanitizer: Sanitizer | undefined): Attributes {
  const method = methodOf(call)
  return {
    'http.request.method': method,
    ...(method === '_OTHER' ? { 'http.request.method_original': call.method } : {}),
    'url.full': shownUrl(call.url, sanitizer),
    ...serverOf(call.origin),
    'redrive.policy_id': call.policy.policyId,
  }
}

/** The URL as its task shows it; its origin alone while there is no core to sanitize it. */
function shownUrl(url: string, sanitizer: Sanitizer | undefined): string {
  try {
    if (sanitizer) return sanitizer.url(url)
  } catch {
    // the core is gone, with its memory: the queue has closed, or has said `degraded`
  }
  return `${new URL(url).origin}/`
}

export function answerAttributes(finished: Finished): Attributes {
  const { status, answer } = finished
  const error = errorType(finished)
  return {
    ...(answer && status > 0 ? { 'http.response.status_code': status } : {}),
    ...(error ? { 'error.type': error } : {}),
  }
}

/** undefined: it is no error. */
export function errorType({ outcome, status, answer, error }: Finished): string | undefined {
  if (answer) return status >= 400 ? String(status) : undefined
  if (outcome === OUTCOME_TIMED_OUT) return 'timeout'
  return nameOfError(error)
}

export function nameOfError(error: unknown): string {
  const { name } = (typeof error === 'object' && error !== null ? error : {}) as { readonly name?: unknown }
  return typeof name === 'string' && NAME.test(name) ? name : '_OTHER'
}
