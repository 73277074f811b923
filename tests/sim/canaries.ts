/**
 * Words that stand for secrets: each says which origin it was given for, and may be found in a request to that origin, and
 * nowhere else (S12).
 */

const WORD = 'qzcanary'
const FOUND = new RegExp(`${WORD}(.)`, 'g')
const text = new TextDecoder()

/** The letter of an origin: that of its host. */
const letterOf = (origin: string): string => new URL(origin).host.charAt(0)

/** A secret for `origin` that nothing but its own word tells apart from other text. */
export const canary = (origin: string, what: string): string => `${WORD}${letterOf(origin)}${what}`

/** The secrets of a text that were not given for `origin`. */
export function strayIn(said: string, origin: string): string | undefined {
  for (const [word, letter] of said.matchAll(FOUND)) if (letter !== letterOf(origin)) return word
  return undefined
}

/** Where a secret is in a value: its bytes, texts, fields, the message, stack and cause of an error. undefined: nowhere. */
export function leakIn(value: unknown, path = '', seen: Set<object> = new Set()): string | undefined {
  if (typeof value === 'string') return value.includes(WORD) ? `${path}: ${value.slice(0, 200)}` : undefined
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  if (value instanceof Uint8Array) return leakIn(text.decode(value), path)
  for (const [name, field] of fieldsOf(value)) {
    const leak = leakIn(name, `${path} name`) ?? leakIn(field, `${path}.${name}`, seen)
    if (leak !== undefined) return leak
  }
  return undefined
}

function fieldsOf(value: object): readonly (readonly [string, unknown])[] {
  if (value instanceof Headers || value instanceof Map) return [...value].map(([name, field]) => [String(name), field])
  if (!(value instanceof Error)) return Object.entries(value)
  const { name, message, stack, cause } = value
  return [...Object.entries({ name, message, stack, cause }), ...Object.entries(value)]
}
