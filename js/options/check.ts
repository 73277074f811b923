/**
 * Option checks: a table of rules per options object, one reader of tables. TypeError where the kind is wrong,
 * RangeError where the value is; both name the option, what was expected, and what came.
 */

import { meant } from './meant.ts'

export interface Rule {
  /** The `kindOf` a value that may be right. Absent: the value alone decides. */
  readonly type?: string
  readonly expected: string
  readonly ok?: (value: never) => boolean
  /** An array of these. */
  readonly each?: Rule
  /** An object of these. */
  readonly inside?: Rules<object>
  /** Right whatever the rest says. */
  readonly also?: unknown
  /** How the message tells a value of the right kind that is wrong; what may be secret in it is left out. */
  readonly shown?: (value: never) => string
  /** A value may be the secret itself: the message tells its kind. */
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
export const ms = (from = 0): Rule => ({
  ...int(from, MAX_MS),
  expected: `a whole number of milliseconds${from ? `, at least ${from}` : ''}`,
})
export const kind = (type: string, expected: string = withArticle(type)): Rule => ({ type, expected })
/**
 * Text that is the same wherever it is kept: a lone surrogate becomes another character in UTF-8, which would make one name of
 * two, and NUL ends a text in some databases.
 */
export const isWellFormed = (value: string): boolean => !/[\0\p{Surrogate}]/u.test(value)
export const text: Rule = { ...kind('string'), expected: 'a well-formed string', ok: isWellFormed }
export const flag: Rule = kind('boolean')
export const fn: Rule = kind('function')
export const object: Rule = kind('object')
export const objectLike = (example: string): Rule => kind('object', `an object such as ${example}`)
export const pattern = (expected: string, shape: RegExp): Rule => ({
  ...text,
  expected,
  ok: (value) => shape.test(value),
})
export const token: Rule = pattern('an HTTP token', /^[!#-'*+.^-`|~\w-]+$/)
/** One of these values and no other. */
export const oneOf = (...values: readonly unknown[]): Rule => ({
  type: typeof values[0],
  expected: values.map(show).join(' or '),
  ok: (value) => values.includes(value),
})
export const list = (each: Rule): Rule => ({ ...kind('array'), each })
export const options = <T extends object>(inside: Rules<T>): Rule => ({ ...object, inside })
export const or = (also: unknown, rule: Rule): Rule => ({
  ...rule,
  expected: `${show(also)} or ${rule.expected}`,
  also,
})

/**
 * Throws on the first key that is unknown or breaks its rule. `undefined` counts as absent. `whole`: the rule for all of it; `ofCall`:
 * those of a call's own options, which may have been meant.
 */
export function check<T extends object>(
  what: string,
  value: T,
  rules: Rules<T>,
  whole: Rule = object,
  ofCall: object = {},
): void {
  follow(what, value, whole)
  for (const [key, given] of Object.entries(value)) {
    const rule = (rules as Record<string, Rule>)[key]
    const name = `${what}.${key}`
    // what every object inherits, such as `constructor`, is no rule
    if (!rule?.expected) {
      const names = [...pathsOf(rules), ...Object.keys(ofCall).map((option) => `redrive.${option}`)]
      throw new TypeError(`${name}: no such option; ${meant(key, names)}`)
    }
    if (given !== undefined) follow(name, given, rule, ofCall)
  }
}

/** The names of a table, and those of the tables in it. */
const pathsOf = (rules: object): string[] =>
  Object.entries(rules as Rules<Record<string, unknown>>).flatMap(([name, { inside }]) => [
    name,
    ...(inside ? pathsOf(inside).map((path) => `${name}.${path}`) : []),
  ])

/** Whether a value breaks a rule, but for what is in it. */
const isWrong = (value: unknown, { type, ok }: Rule): boolean =>
  (type !== undefined && kindOf(value) !== type) || ok?.(value as never) === false

export function follow(name: string, value: unknown, rule: Rule, ofCall?: object): void {
  const kind = kindOf(value)
  const { type = kind, expected, each, inside, also, shown = show, isMute } = rule
  if (also !== undefined && value === also) return
  if (isWrong(value, rule)) {
    const came = isMute ? withArticle(kind) : kind === type ? shown(value as never) : show(value)
    throw new (kind === type ? RangeError : TypeError)(`${name}: expected ${expected}, got ${came}`)
  }
  if (inside) check(name, value as object, inside, object, ofCall)
  if (each) {
    for (const [i, item] of (value as unknown[]).entries())
      if (each.inside || each.each || isWrong(item, each)) follow(`${name}[${i}]`, item, each)
  }
}

/** A `typeof` that knows arrays and null. */
const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

function withArticle(kind: string): string {
  return `${/^[aou]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** A value short enough for a message; never the inside of an object, which may hold a secret. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.replace(/^(.{40}).+/s, '$1…')}'`
  const kind = kindOf(value)
  return /^[aof]/.test(kind) ? withArticle(kind) : String(value)
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
  shown: (given: string) => {
    const shown = show(given.replace(/^.*@/s, '…@').replace(/[?#].*/s, '…'))
    if (/[*,; ]/.test(given.trim())) return `${shown}: one origin per entry, no wildcards`
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
