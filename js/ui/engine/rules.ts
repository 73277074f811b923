/** The bounds of what may be asked of the lab. They are those of the module's memory, and of a user's patience. */

import { follow, int, num, oneOf, or, POLICY_FIELDS, type Rule, type Rules, show } from 'redrive/internal'
import type { Kind, RequestOf } from './protocol.ts'

/** Policies are checked number by number in the module. */
const fields: Rule = {
  expected: 'a Float64Array that policyFields() made',
  ok: (value: unknown) => value instanceof Float64Array && value.length >= POLICY_FIELDS.length + 2,
}
const attempts = (row: Float64Array) => row[POLICY_FIELDS.indexOf('maxAttempts')] as number
/** A crowd that makes no retry has nothing to show. */
const retrying: Rule = {
  ...fields,
  expected: `${fields.expected}, with maxAttempts of 2 or more`,
  // NaN: the default, which is more
  ok: (value: never) => fields.ok?.(value) === true && !(attempts(value) < 2),
  shown: (value: never) => (fields.ok?.(value) ? `maxAttempts ${attempts(value)}` : show(value)),
}
const seed = int(0, Number.MAX_SAFE_INTEGER)
const pixels = int(1, 8_192)
const wholeSeconds: Rule = {
  type: 'number',
  expected: 'whole seconds in ms, from 1000 to 600000',
  ok: (value: number) => value >= 1_000 && value <= 600_000 && value % 1_000 === 0,
}

const RULES: { readonly [K in Kind]: Rules<RequestOf<K>> } = {
  crowd: {
    fields: retrying,
    jobs: int(1, 1_000_000),
    retries: int(1, 25),
    seed,
    width: pixels,
    height: pixels,
    dotsMax: int(0, 2_000_000),
  },
  frontier: { fields: or(null, fields), crowds: int(1, 1_000), seed },
  outage: {
    fields,
    clients: int(1, 20_000),
    capacityPerSecond: num(10, 10_000),
    load: num(0.01, 0.99),
    outageMs: wholeSeconds,
    backlog: oneOf('deep', 'short'),
    outage: oneOf('hanging', 'refusing'),
    calls: oneOf('enqueued', 'awaited'),
    gates: oneOf('none', 'budget', 'breaker', 'breaker-budget', 'shipped'),
    seed,
  },
}

/** Throws on the first field of a request that cannot be; a field that is not there is one. */
export function checkRequest<K extends Kind>(kind: K, request: RequestOf<K>): void {
  const rules = RULES[kind]
  for (const name of Object.keys(rules) as (keyof RequestOf<K> & string)[]) {
    follow(`${kind}.${name}`, request[name], rules[name])
  }
}
