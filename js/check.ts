/**
 * Option checks: one table of rules per options object, one reader of tables. TypeError where the kind is wrong,
 * RangeError where the value is; both name the option, what was expected, and what came.
 */

/** `int` and `num` are closed ranges. */
export type Rule =
  | { readonly int: readonly [number, number] }
  | { readonly num: readonly [number, number] }
  | { readonly oneOf: readonly string[] }
  | { readonly kind: 'string' | 'boolean' | 'function' | 'object' | 'bigint' | 'any' }
  | { readonly list: Rule }
  | { readonly or: readonly [unknown, Rule] }
  /** Part of the contract, not built yet: only these values, which ask for nothing, are accepted. */
  | { readonly later: readonly unknown[] }

export type Rules<T> = { readonly [K in keyof T]-?: Rule }

/** Durations are whole milliseconds a JavaScript Date can hold (about 285,000 years). */
export const MAX_MS = 8.64e15
export const ms = (from = 0): Rule => ({ int: [from, MAX_MS] })
export const text: Rule = { kind: 'string' }
export const flag: Rule = { kind: 'boolean' }
export const fn: Rule = { kind: 'function' }
export const texts: Rule = { list: text }

/** Throws on the first key that is unknown or breaks its rule. `undefined` counts as absent. */
export function check<T extends object>(what: string, value: T, rules: Rules<T>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError(`${what}: expected an object, got ${show(value)}`)
  }
  for (const [key, given] of Object.entries(value)) {
    const rule = (rules as Record<string, Rule>)[key]
    const name = `${what}.${key}`
    if (!rule) throw new TypeError(`${name}: no such option; known are ${Object.keys(rules).join(', ')}`)
    if (given !== undefined) follow(name, given, rule)
  }
}

export function follow(name: string, value: unknown, rule: Rule): void {
  if ('or' in rule) {
    if (value !== rule.or[0]) follow(name, value, rule.or[1])
  } else if ('later' in rule) {
    if (rule.later.includes(value)) return
    const have = rule.later.length ? `; expected ${rule.later.map(show).join(' or ')}` : ''
    throw new RangeError(`${name}: not available in this version yet${have}, got ${show(value)}`)
  } else if ('list' in rule) {
    if (!Array.isArray(value)) throw new TypeError(`${name}: expected an array, got ${show(value)}`)
    for (let i = 0; i < value.length; i++) follow(`${name}[${i}]`, value[i], rule.list)
  } else if ('oneOf' in rule) {
    const expected = `expected one of ${rule.oneOf.map((word) => `'${word}'`).join(', ')}`
    if (typeof value !== 'string') throw new TypeError(`${name}: ${expected}, got ${show(value)}`)
    if (!rule.oneOf.includes(value)) throw new RangeError(`${name}: ${expected}, got ${show(value)}`)
  } else if ('kind' in rule) {
    const good = rule.kind === 'any' || (typeof value === rule.kind && value !== null)
    if (!good) throw new TypeError(`${name}: expected ${article(rule.kind)}, got ${show(value)}`)
  } else {
    const whole = 'int' in rule
    const [from, to] = whole ? rule.int : rule.num
    const expected = `expected a ${whole ? 'whole ' : ''}number from ${from} to ${to}`
    if (typeof value !== 'number') throw new TypeError(`${name}: ${expected}, got ${show(value)}`)
    // written so that NaN fails too
    const good = value >= from && value <= to && (!whole || Number.isInteger(value))
    if (!good) throw new RangeError(`${name}: ${expected}, got ${value}`)
  }
}

function article(kind: string): string {
  return kind === 'object' ? 'an object' : `a ${kind}`
}

/** A value short enough for a message; never the inside of an object, which may hold a secret. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `'${value.slice(0, 40)}…'` : `'${value}'`
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' || typeof value === 'function' ? article(typeof value) : String(value)
}

/** The origin of a URL that has one; undefined otherwise. (`URL.canParse` is younger than the engines meant.) */
export function originIn(url: unknown): string | undefined {
  try {
    const { origin } = new URL(String(url))
    return origin === 'null' ? undefined : origin
  } catch {
    return undefined
  }
}
