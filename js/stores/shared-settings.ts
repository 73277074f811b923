/**
 * Rules of what processes share beside tasks, alike in every store that has it: entries of the registry, and scopes that are paused. A slip
 * in either would be one of all processes at once, so it is refused before it is written.
 */

import { originIn, principalIn } from '../api/records.ts'
import type { Pause, RegistryEntry } from '../api/registry.ts'
import {
  check,
  follow,
  kind,
  MAX_MS,
  num,
  object,
  or,
  origin,
  pattern,
  type Rules,
  show,
  text,
} from '../options/check.ts'
import { errorText } from '../platform/error-text.ts'
import { checkGiven } from './filters.ts'

const name = pattern('a name of at least one character', /^[^\0\p{Surrogate}]+$/u)

/** The value of an entry as JSON; null: it is to be deleted. Throws where the entry may not be written. */
export function entryText(given: string, value: unknown, expected?: number): string | null {
  follow('registry.write.name', given, name)
  if (expected !== undefined) follow('registry.write.expected', expected, num(0, Number.MAX_SAFE_INTEGER, 'whole '))
  if (value === null) return null
  const json = jsonOf(value)
  if (json !== undefined) return json
  throw new TypeError(`registry.write.value: expected what JSON can tell, got ${show(value)}; null deletes an entry`)
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new TypeError(`registry.write.value: expected what JSON can tell: ${errorText(cause)}`, { cause })
  }
}

/** By name, in the order of JavaScript: a database may have another. */
export const byName = (a: Pick<RegistryEntry, 'name'>, b: Pick<RegistryEntry, 'name'>): number =>
  a.name < b.name ? -1 : 1

const PAUSE: Rules<Pause> = {
  id: name,
  origin,
  principal: or(null, text),
  reason: text,
  at: num(-MAX_MS, MAX_MS),
}

/** A copy of a pause, to go by. Throws where it is not sound: a scope that was left undefined by mistake would be everything. */
export function checkedPause(pause: Pause): Pause {
  check('pauses.put', pause, PAUSE, object)
  checkGiven('pauses.put', { ...pause }, 'origin', 'principal')
  for (const part of ['id', 'at'] as const)
    follow(`pauses.put.${part}`, pause[part], part === 'id' ? name : kind('number'))
  return { ...pause }
}

export const byId = (a: Pause, b: Pause): number => (a.id < b.id ? -1 : 1)

/** Whether a lane is in the scope of any of these. */
export const pausedBy =
  (pauses: Iterable<Pause>) =>
  (lane: string): boolean => {
    const [ownOrigin, ownPrincipal] = [originIn(lane), principalIn(lane)]
    for (const { origin = ownOrigin, principal = ownPrincipal } of pauses)
      if (origin === ownOrigin && principal === ownPrincipal) return true
    return false
  }
