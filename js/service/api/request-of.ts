/**
 * The request that a task makes, as it may be stored. A service cannot keep a secret in memory as a page can, and what is stored is read
 * by backups and by people: so it refuses what a page's queue would withhold (S12).
 */

import { REDACTED, utf8 } from 'redrive/internal'
import type { NewTask } from 'redrive/store'
import { FIELD_NAME, FIELD_VALUE } from '../field-rules.ts'
import type { ApiContext, ApiLimits, ApiSettings } from './context.ts'
import { memberOf } from './parts.ts'
import { type FieldError, invalid, Problem, pointerTo } from './problem.ts'
import type { TaskIn } from './schemas/task-in.ts'

const MAX_HEADERS = 64
const MAX_HEADER_BYTES = 16_384
const MAX_URL_LENGTH = 8_192

const TARGET = ['targetUrl'] as const

/** The target, with no fragment: that is never sent. `place`: where it stands in the body. Throws 'invalid'. */
export function targetOf(
  given: string,
  { maxUrlLength = MAX_URL_LENGTH }: ApiLimits,
  place: readonly string[] = TARGET,
): URL {
  const wrong = (why: string): Problem => invalid(`${place.join('.')}: ${why}`, ...place)
  if (given.length > maxUrlLength) throw wrong(`${given.length} characters exceed ${maxUrlLength}`)
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong('expected an absolute http or https URL')
  if (url.username !== '' || url.password !== '') {
    throw wrong('a user or a password in it would be stored; leave them out')
  }
  url.hash = ''
  return url
}

/** The target as it is stored. Throws 'target-refused', 'url-secret'. */
export function storedTarget(
  url: URL,
  tenant: string | null,
  context: ApiContext,
  settings: ApiSettings,
  place: readonly string[] = TARGET,
): string {
  const name = place.join('.')
  const refusal = context.checkTarget(url, tenant)
  if (refusal) {
    context.onTargetRefused?.(refusal.rule)
    throw new Problem('target-refused', `${name}: ${refusal.text}`, { rule: refusal.rule })
  }
  // the operator has said that all who read the store may have it
  if (settings.urlSecrets === 'keep') return url.href
  const { sanitizer } = context
  const target = settings.urlSecrets === 'strip' ? sanitizer.strip(url.href) : url.href
  const shown = sanitizer.url(target)
  if (shown !== target) throw new Problem('url-secret', `${name}: ${whyHidden(shown)}`)
  return target
}

/** Names the part of a URL that looks like a secret. */
function whyHidden(shown: string): string {
  const remedy =
    'tasks are stored, and all who read the store would have it; start the service with --url-secrets keep to allow that'
  const { pathname, searchParams } = new URL(shown)
  if (pathname.includes(REDACTED)) return `a part of its path looks like a secret; ${remedy}`
  const names = [...searchParams].flatMap(([name, value]) => (value.includes(REDACTED) ? [`'${name}'`] : []))
  const what = names.length > 0 ? [...new Set(names)].join(', ') : 'a part of it'
  return `${what} looks like a secret; ${remedy}`
}

/** Throws 'invalid' for headers that no request can have, or too many of them. */
export function checkHeaders({ headers = {} }: TaskIn, limits: ApiLimits): void {
  const { maxHeaders = MAX_HEADERS, maxHeaderBytes = MAX_HEADER_BYTES } = limits
  const entries = Object.entries(headers)
  if (entries.length > maxHeaders) throw invalid(`headers: ${entries.length} of them exceed ${maxHeaders}`, 'headers')
  const size = entries.reduce((sum, [name, value]) => sum + utf8(name).length + utf8(value).length, 0)
  if (size > maxHeaderBytes) throw invalid(`headers: ${size} bytes exceed ${maxHeaderBytes}`, 'headers')
  const seen = new Set<string>()
  for (const [name, value] of entries) {
    const lower = name.toLowerCase()
    if (!FIELD_NAME.test(name)) throw invalid('headers: expected names that are RFC 9110 tokens', 'headers', name)
    if (!FIELD_VALUE.test(value)) {
      throw invalid(`headers: the value of ${lower} holds a control character, or one that is no byte`, 'headers', name)
    }
    if (seen.has(lower)) throw invalid(`headers: ${lower} is there twice, in different case`, 'headers', name)
    seen.add(lower)
  }
}

const NOT_STORED = 'and credentials are not stored: name one of the service in `credential` instead'

/** The headers as they are stored, names in lower case. Throws 'header-refused' for those that may not be. */
export function storedHeaders({ headers = {}, json }: TaskIn, { sanitizer }: ApiContext): Record<string, string> {
  const { 'idempotency-key': key, ...given } = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]),
  )
  const { headers: kept, withheld, unknown } = sanitizer.headers(Object.entries(given))
  const because = new Map<string, string>()
  for (const name of Object.keys(given)) {
    if (withheld.includes(name)) because.set(name, `it carries, or may carry, a credential, ${NOT_STORED}`)
    else if (unknown.includes(name)) {
      // a page's queue can keep in memory what no list names; here it would be lost, so its value decides
      const value = given[name] ?? ''
      if (sanitizer.headers([['accept', value]]).withheld.length > 0)
        because.set(name, `its value looks like a credential, ${NOT_STORED}`)
      else kept[name] = value
    } else if (!Object.hasOwn(kept, name))
      because.set(name, 'it belongs to the connection, and is made for each attempt')
  }
  if (key !== undefined) because.set('idempotency-key', 'give the key as `idempotencyKey`')
  if (because.size > 0) {
    const errors: FieldError[] = [...because].map(([name, why]) => ({
      pointer: pointerTo(['headers', Object.keys(headers).find((each) => each.toLowerCase() === name) ?? name]),
      detail: `${name}: ${why}`,
    }))
    throw new Problem('header-refused', errors.map(({ detail }) => detail).join('; '), { errors })
  }
  if (json !== undefined && kept['content-type'] === undefined) kept['content-type'] = 'application/json'
  return kept
}

const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/

/** The bytes of the body; undefined: there is none, or it was uploaded. `text`: the canonical text of the task, which that of `json` is a part of. Throws 'invalid'. */
export function bodyOf(task: TaskIn, method: string, text: string): NewTask['body'] {
  const { body, bodyEncoding, json, bodyRef } = task
  if (body !== undefined && json !== undefined) throw invalid('json: give `body` or `json`, not both', 'json')
  if (bodyRef !== undefined && (body ?? json) !== undefined) {
    throw invalid('bodyRef: give `body`, `json` or `bodyRef`, one of them', 'bodyRef')
  }
  if (bodyEncoding !== undefined && body === undefined) {
    throw invalid('bodyEncoding: it says how `body` is written, and there is none', 'bodyEncoding')
  }
  if (bodyRef !== undefined) return withBody(method, undefined, 'bodyRef')
  if (json !== undefined) return withBody(method, memberOf(utf8(text), 'json')?.value.slice(), 'json')
  if (body === undefined || body === '') return undefined
  if (bodyEncoding !== 'base64') return withBody(method, utf8(body), 'body')
  if (!BASE64.test(body)) throw invalid('body: expected base64 (RFC 4648, 4) with its padding', 'body')
  return withBody(method, new Uint8Array(Buffer.from(body, 'base64')), 'body')
}

function withBody<T>(method: string, bytes: T, field: 'body' | 'json' | 'bodyRef'): T {
  if (method === 'GET' || method === 'HEAD') throw invalid(`${field}: a ${method} has no body`, field)
  return bytes
}
