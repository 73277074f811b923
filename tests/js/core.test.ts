import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RetryPolicy } from '../../js/api/policy.ts'
import { Calls } from '../../js/core/calls.ts'
import { JITTERS, OP_RELEASE_POLICY, STRATEGIES } from '../../js/core/codes.ts'
import { instantiate } from '../../js/core/file.ts'
import { policyFields } from '../../js/core/policy-row.ts'
import { loadCore } from '../../js/core.ts'
import { check } from '../../js/options/check.ts'
import { resolvePolicy } from '../../js/options/policy-rules.ts'
import { SANITIZE_RULES } from '../../js/options/sanitize.ts'
import { bySize } from '../size.ts'

const core = await loadCore()
const NOW = Date.UTC(2030, 0, 1)

test('calculateBackoffDelay is repeatable with random and draws its own without', () => {
  const policy = { initialDelayMs: 1_000 }
  expect(core.calculateBackoffDelay(policy, 3, { random: 0.5 })).toBe(2_000)
  expect(core.calculateBackoffDelay(policy, 3, { random: 0 })).toBe(0)
  const drawn = Array.from({ length: 50 }, () => core.calculateBackoffDelay(policy, 3))
  expect(new Set(drawn).size).toBeGreaterThan(25)
  for (const ms of drawn) {
    expect(ms).toBeGreaterThanOrEqual(0)
    expect(ms).toBeLessThan(4_000)
  }
})

test('calculateBackoffDelay takes the longer of curve and Retry-After, uncapped and without spread', () => {
  const policy = { initialDelayMs: 1_000, jitterType: 'NONE' } as const
  const wait = (retryAfter: string | null) => core.calculateBackoffDelay(policy, 1, { retryAfter, now: NOW })
  expect(wait('30')).toBe(30_000)
  expect(wait('0')).toBe(1_000)
  expect(wait('3600')).toBe(3_600_000)
  expect(wait(new Date(NOW + 5_000).toUTCString())).toBe(5_000)
  expect(wait('soon')).toBe(1_000)
  expect(wait(null)).toBe(1_000)
})

test('what the options accept the core accepts: no call is refused after its first attempt', async () => {
  const queue = new Calls(await instantiate(), 1, 1, 1, 1, 0, 1n)
  const days = fc.integer({ min: 0, max: 400 * 86_400_000 })
  const any = fc.oneof(days, fc.constantFrom(0, 1, 8.64e15))
  fc.assert(
    fc.property(
      fc.record(
        {
          strategy: fc.constantFrom(...STRATEGIES),
          jitterType: fc.constantFrom(...JITTERS),
          maxAttempts: fc.integer({ min: 1, max: 100 }),
          initialDelayMs: any,
          maxDelayMs: any,
          multiplier: fc.oneof(fc.constant(1), fc.double({ min: 1.01, max: 100, noNaN: true })),
          stepMs: any,
          totalBudgetMs: any,
          keyTtlMs: fc.oneof(fc.integer({ min: 1, max: 400 * 86_400_000 }), fc.constant(8.64e15)),
          attemptTimeoutMs: any,
          estimatedCallMs: any,
          maxRetryAfterMs: any,
          jitterRatio: fc.double({ min: 0, max: 1, noNaN: true }),
          freshJitter: fc.double({ min: 0, max: 0.5, noNaN: true }),
          exponent: fc.double({ min: 0, max: 8, noNaN: true }),
          baseMs: any,
          jitterMs: any,
          delaysMs: fc.array(any, { maxLength: 5 }),
          retryableStatusCodes: fc.array(fc.integer({ min: 100, max: 599 }), { maxLength: 600 }),
          retryNetworkErrors: fc.boolean(),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Partial<RetryPolicy>>,
      (policy) => {
        const byOptions = outcome(() => resolvePolicy(policy))
        const byCore = outcome(() => queue.call(OP_RELEASE_POLICY, queue.policy(policyFields(policy))))
        expect({ policy, byCore }).toEqual({ policy, byCore: byOptions })
      },
    ),
    { numRuns: bySize(64, 500) },
  )
  queue.free()
})

test('what the options accept as patterns of headers the core accepts', async () => {
  const engine = await instantiate()
  fc.assert(
    fc.property(fc.stringMatching(/^[*a!#'+.^_`|~;{}"\\é -]{0,5}$/), (pattern) => {
      const byOptions = outcome(() => check('options', { denyHeaders: [pattern] }, SANITIZE_RULES as never))
      const byCore = outcome(() => {
        // a line break is what the core tells patterns apart by, and nothing is no list
        const size = engine.scratch.text(pattern || '\n')
        new engine.glue.HeaderRules(0, size).free()
      })
      expect({ pattern, byCore }).toEqual({ pattern, byCore: byOptions })
    }),
    { numRuns: bySize(64, 500) },
  )
})

function outcome(work: () => unknown): 'accepted' | 'refused' {
  try {
    work()
    return 'accepted'
  } catch {
    return 'refused'
  }
}
