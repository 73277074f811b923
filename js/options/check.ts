/**
 * Option checks: a table of rules per options object, one reader of tables. TypeError where the kind is wrong,
 * RangeError where the value is; both name the option, what was expected, and what came.
 */

export interface Rule {
  /** The `typeof` of a value that may be right; 'any': the value alone decides. */
  readonly type: string
  readonly expected: string
  readonly ok: (value: never) => boolean
  /** An array of these. */
  readonly each?: Rule
  /** An object of these. */
  readonly inside?: Rules<object>
  /** Right whatever the rest says. */
  readonly also?: unknown
  /** How the message tells a value of the right type that is wrong; what may be secret in it is left out. */
  readonly got?: (value: never) => string
  /** A value of another type may be the secret itself: `got` tells that, too. */
  readonly isMute?: true
}

export type Rules<T> = { readonly [K in keyof T]-?: Rule }

/** Durations are whole milliseconds a JavaScript Date can hold (about 285,000 years). */
export const MAX_MS = 8.64e15

/** Closed; NaN is in no range. */
export const num = (from: number, to: number, whole = ''): Rule => ({
  type: 'number',
  expected: `a ${whole}number from ${from} to ${to}`,
  ok: (value: number) => value >= from && value <= to && (!whole || Number.isInteger(value)),
})
export const int = (from: number, to: number): Rule => num(from, to, 'whole ')
export const ms = (from = 0): Rule => int(from, MAX_MS)
export const kind = (type: string, expected = `a ${type}`): Rule => ({
  type,
  expected,
  ok: (value) => value !== null,
})
/**
 * Text that is the same wherever it is kept: a lone surrogate becomes another character in UTF-8, which would make one name of
 * two, and NUL ends a text in some databases.
 */
export const isWellFormed = (value: string): boolean => !/[\0\p{Surrogate}]/u.test(value)
export const text: Rule = { ...kind('string'), expected: 'a well-formed string', ok: isWellFormed }
export const flag: Rule = kind('boolean')
export const fn: Rule = kind('function')
export const object: Rule = kind('object', 'an object')
export const pattern = (expected: string, shape: RegExp): Rule => ({
  ...text,
  expected,
  ok: (value) => shape.test(value),
})
/** One of these values and no other. */
export const oneOf = (type: string, ...values: readonly unknown[]): Rule => ({
  type,
  expected: values.map(show).join(' or '),
  ok: (value) => values.includes(value),
})
export const list = (each: Rule): Rule => ({ ...object, expected: 'an array', ok: Array.isArray, each })
export const options = <T extends object>(inside: Rules<T>): Rule => ({ ...object, inside })
export const or = (also: unknown, rule: Rule): Rule => ({
  ...rule,
  expected: `${show(also)} or ${rule.expected}`,
  also,
})

/** Throws on the first key that is unknown or breaks its rule. `undefined` counts as absent. */
export function check<T extends object>(what: string, value: T, rules: Rules<T>): void {
  follow(what, Array.isArray(value) ? null : value, object, value)
  for (const [key, given] of Object.entries(value)) {
    const rule = (rules as Record<string, Rule>)[key]
    const name = `${what}.${key}`
    if (!rule) throw new TypeError(`${name}: no such option; there are ${Object.keys(rules).join(', ')}`)
    if (given !== undefined) follow(name, given, rule)
  }
}

/** `shown`: what the message says came, where that is not the value that was looked at. */
export function follow(name: string, value: unknown, rule: Rule, shown: unknown = value): void {
  const { type, expected, ok, each, inside, also, got = () => show(shown) } = rule
  if (also !== undefined && value === also) return
  const right = type === 'any' || typeof value === type
  if (!right || !ok(value as never)) {
    const kindIsRight = right && value !== null && !each
    const came = right || rule.isMute ? got(value as never) : show(shown)
    throw new (kindIsRight ? RangeError : TypeError)(`${name}: expected ${expected}, got ${came}`)
  }
  if (inside) check(name, value as object, inside)
  if (each) {
    for (const [i, item] of (value as unknown[]).entries()) follow(`${name}[${i}]`, item, each)
  }
}

/** A value short enough for a message; never the inside of an object, which may hold a secret. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.replace(/^(.{40}).+/s, '$1…')}'`
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value) return object.expected
  return typeof value === 'function' ? fn.expected : String(value)
}

/**
 * The one reader of origins: exactly what `new URL(x).origin` gives back for an http(s) URL, as requests are compared with it.
 * Whatever else a URL parser would make one of is refused, and so is a host that no one can have.
 */
export const origin: Rule = {
  ...text,
  expected: "an exact origin such as 'https://api.test'",
  ok: (given: string) => given === meantBy(given),
  // a URL given by mistake may hold secrets: user and password before the host, and all that comes after it
  got: (given: string) => {
    const shown = show(given.replace(/^.*@/s, '…@').replace(/[?#].*/s, '…'))
    if (given.includes('*')) return `${shown}: there is no wildcard`
    if (/[,; ]/.test(given.trim())) return `${shown}: one origin per entry`
    const meant = meantBy(given)
    return meant ? `${shown}: '${meant}' was meant` : shown
  },
}

function meantBy(given: string): string | undefined {
  const found = originIn(given)
  return found && /^https?:..[\w[][\w.:\]-]*$/.test(found) ? found : undefined
}

/** The origin of an http(s) URL; undefined otherwise. (`URL.canParse` is younger than the engines meant.) */
export function originIn(url: unknown): string | undefined {
  try {
    const { origin } = new URL(String(url))
    return /^http/.test(origin) ? origin : undefined
  } catch {
    return undefined
  }
}

/** The origin that `pause` or `resume` is for; undefined: all. */
export function originOf(what: string, scope: { readonly origin: string } | undefined): string | undefined {
  if (scope === undefined) return undefined
  follow(what, scope, object)
  follow(`${what}.origin`, scope.origin, origin)
  return scope.origin
}
