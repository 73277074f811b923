/** What "As code" gives is taken by those it is for: the queue, the command line, the environment. */
import { expect, test } from 'vitest'
import type { RetryPolicy } from '../../../js/api/policy.ts'
import { presets } from '../../../js/options/presets.ts'
import { FLAGS } from '../../../js/service/cli/flags.ts'
import { codeOf, presetOf } from '../../../js/ui/lab/code.ts'
import { STRATEGY_KNOBS, withStrategy } from '../../../js/ui/lab/policy-knobs.ts'

const odd: Partial<RetryPolicy> = {
  policyId: 'it\'s "mine"\n',
  strategy: 'table',
  delaysMs: [0, 1_500, 86_400_000],
  retryNetworkErrors: false,
  jitterRatio: 0.25,
}
const formula: Partial<RetryPolicy> = {
  policyId: 'own',
  strategy: 'polynomial',
  baseMs: 15_000,
  exponent: 2.5,
  jitterMs: 1_500,
  maxAttempts: 11,
}

/** The policy of the code for a queue, as JavaScript reads it. */
function evaluated(code: string): unknown {
  const [, policy] = /policy: ([\s\S]*) \}\)$/.exec(code) ?? []
  return new Function('presets', `return ${policy}`)(presets)
}

test.each([
  ...Object.values(presets),
  odd,
  formula,
  {},
  ...STRATEGY_KNOBS.map(({ strategy }) => withStrategy({ maxAttempts: 7 }, strategy)),
])('the code for a queue is the policy: %j', (policy) => {
  expect(evaluated(codeOf(policy, 'queue'))).toEqual(policy)
})

test('a preset is called by its name, everywhere', () => {
  expect(presetOf({ ...presets.svix })).toBe('svix')
  expect(presetOf({ ...presets.svix, maxAttempts: 9 })).toBeUndefined()
  expect(codeOf(presets.svix, 'queue')).toBe(
    "import { presets, RetryQueue } from 'redrive'\n\nconst queue = new RetryQueue({ policy: presets.svix })",
  )
  expect(codeOf(presets.svix, 'cli')).toBe('npx @redrive/service serve --default-policy svix')
  expect(codeOf(presets.svix, 'environment')).toBe('REDRIVE_DEFAULT_POLICY=svix')
})

test('a formula is its three flags, without a loss', () => {
  expect(codeOf(formula, 'cli')).toBe(
    'npx @redrive/service serve --default-backoff-base 15s --default-backoff-exponent 2.5 --default-backoff-jitter 1500ms --default-retry-limit 10',
  )
  expect(codeOf(formula, 'environment').split('\n')).toContain('REDRIVE_DEFAULT_BACKOFF_JITTER=1500ms')
})

test('any other is a file with its name', () => {
  const code = codeOf(odd, 'cli')
  expect(code).toContain('npx @redrive/service serve --policies policies.json --default-policy')
  const file = code
    .split('\n')
    .filter((line) => line.startsWith('# '))
    .slice(1)
  expect(JSON.parse(file.map((line) => line.slice(2)).join('\n'))).toEqual([odd])
})

test('every flag that is named is one of the service', () => {
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const known = new Set(Object.keys(FLAGS).map((name) => `--${kebab(name)}`))
  const named = [presets.svix, formula, odd].flatMap((policy) => codeOf(policy, 'cli').match(/(?<= )--[a-z-]+/g) ?? [])
  expect(named.length).toBeGreaterThan(5)
  for (const flag of named) expect(known).toContain(flag)
})
