// The wait before a retry, default policy (exponential, full jitter), third retry.

import { instantiate } from '../../../js/core/file.ts'
import { makeCore } from '../../../js/core/functions.ts'
import { instantiateKeys } from '../../../js/core/keys-file.ts'
import { policyFields } from '../../../js/core/policy-row.ts'
import { policyDefaults } from '../../../js/options/policy.ts'
import { resolvePolicy } from '../../../js/options/policy-rules.ts'

const RETRY = 3
const POLICY = { initialDelayMs: 500, multiplier: 2, maxDelayMs: 30_000 }

/** The formula as a careful person writes it. */
const byHand = ({ initialDelayMs, multiplier, maxDelayMs }, retry, random) =>
  Math.floor(random * (Math.min(maxDelayMs, initialDelayMs * multiplier ** (retry - 1)) + 1))

export async function groups() {
  const [engine, keys] = await Promise.all([instantiate(), instantiateKeys()])
  const { glue } = engine
  const core = makeCore(engine, keys)
  const fields = policyFields(resolvePolicy(POLICY, policyDefaults))
  const half = { random: 0.5 }
  return [
    {
      name: 'half-way',
      same: true,
      contestants: {
        'the formula in JS': () => byHand(POLICY, RETRY, 0.5),
        'the core, policy at hand': () => glue.calculate_backoff_delay(fields, RETRY, 2 ** 31, 0, Number.NaN),
        'core.calculateBackoffDelay': () => core.calculateBackoffDelay(POLICY, RETRY, half),
      },
    },
    {
      name: 'drawn',
      contestants: {
        'the formula in JS': () => byHand(POLICY, RETRY, Math.random()),
        'the core, policy at hand': () => glue.calculate_backoff_delay(fields, RETRY, glue.random_u32(), 0, Number.NaN),
        'core.calculateBackoffDelay': () => core.calculateBackoffDelay(POLICY, RETRY),
        'core.backoffSchedule, 4 retries': () => core.backoffSchedule(POLICY),
      },
    },
  ]
}
