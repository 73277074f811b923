// What stores and queues must mean alike, though neither loads the other.
import { expect, test } from 'vitest'
import { DEFAULT_ATTEMPTS } from '../../js/core/generated/codes.ts'
import { limitsOf } from '../../js/options/limits.ts'
import { policyDefaults } from '../../js/options/policy.ts'
import { resolveOptions } from '../../js/options/queue-rules.ts'
import { isSpent, redriveDeadline } from '../../js/stores/engine/rules.ts'
import { resolveTerms } from '../../js/stores/store-options.ts'

const { policyId, keyTtlMs } = policyDefaults
const policy = { policyId }

test('a store keeps what a queue keeps, unless told otherwise', () => {
  const settings = resolveOptions({})
  const { capacity } = settings
  const { capacityBytes, maxLaneHoldMs, retention } = limitsOf(settings)
  expect(resolveTerms('store', {}).terms).toEqual({ capacity, capacityBytes, maxLaneHoldMs, retention })
})

test.for([{ maxDeadLetters: -1 }, { terminalMs: 0.5 }, { maxTerminal: 1e6 + 1 }, { deadLetterMs: Number.NaN }])(
  'a store refuses the retention %o as a queue does',
  (retention) => {
    expect(() => resolveOptions({ retention })).toThrow(RangeError)
    expect(() => resolveTerms('store', { retention })).toThrow(RangeError)
  },
)

test('a policy that says nothing means to a store what it means to a queue', () => {
  expect(isSpent({ attemptNumber: DEFAULT_ATTEMPTS - 1, policy })).toBe(false)
  expect(isSpent({ attemptNumber: DEFAULT_ATTEMPTS, policy })).toBe(true)
  const now = keyTtlMs * 2
  const keyed = {
    idempotencyKey: 'k',
    firstAttemptAt: now - keyTtlMs,
    deadlineAt: null,
    deadlineReason: 'total_budget',
  } as const
  expect(redriveDeadline({ ...keyed, firstAttemptAt: null }, policy, false, now)?.deadlineAt).toBe(now + keyTtlMs)
  expect(redriveDeadline(keyed, policy, false, now)?.deadlineAt).toBe(now)
  expect(redriveDeadline(keyed, policy, false, now + 1)).toBeNull()
})
