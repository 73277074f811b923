// redrive's scheduler without fetch around it, from the sources: Node strips the types.

import { Emitter } from '../../js/api/emitter.ts'
import { instantiate } from '../../js/core/file.ts'
import { instantiateKeys } from '../../js/core/keys-file.ts'
import { policyFields } from '../../js/core/policy-row.ts'
import { resolvePolicy } from '../../js/options/policy-rules.ts'
import { resolveOptions } from '../../js/options/queue-rules.ts'
import { steady } from '../../js/platform/clock.ts'
import { hostDraw } from '../../js/platform/random.ts'
import { Admission } from '../../js/runner/admission.ts'
import { Runner } from '../../js/runner/runner.ts'

export const ORIGIN = 'https://api.example.test'
export const CONCURRENCY = 6
/** No waits, and no timeout an attempt, since nobody else has one. */
export const NO_WAITS = { initialDelayMs: 0, jitterType: 'NONE', attemptTimeoutMs: 0 }

/** Nobody else has gates, and half of the attempts fail here: they have a bench of their own. */
export const NO_GATES = { breaker: false, retryBudget: false }

export const roomFor = (n) => ({
  concurrency: CONCURRENCY,
  capacity: n,
  capacityBytes: Number.MAX_SAFE_INTEGER,
  ...NO_GATES,
})

/** A runner with room for n tasks, and calls that differ in nothing but their transport. */
export async function openScheduler(n, { clock, policy = NO_WAITS, gates } = {}) {
  const engine = await instantiate()
  const settings = resolveOptions({ ...roomFor(n), policy, ...(clock ? { clock } : {}), ...gates, fetch: () => {} })
  const now = steady(settings.clock)
  const runner = new Runner(engine, {
    settings,
    events: new Emitter(() => {}),
    now,
    draw: hostDraw(),
    counts: { attempts: 0 },
    degraded: (code, message) => console.error(code, message),
    sent: () => {},
    idle: () => {},
  })
  const shared = {
    method: 'GET',
    url: `${ORIGIN}/tasks`,
    origin: ORIGIN,
    headers: new Headers(),
    hasBody: false,
    bytes: 0,
    key: null,
    made: true,
    addedCrossOrigin: false,
    replayable: true,
    options: {},
    ...settings.policies.get('default'),
    timeoutMs: 0,
    waitMs: Number.POSITIVE_INFINITY,
    signal: null,
    plain: null,
  }
  return {
    engine,
    runner,
    admission: new Admission(runner, instantiateKeys),
    callOf: (transport) => ({ ...shared, transport }),
    policyOf: (given) => policyFields(resolvePolicy({ ...NO_WAITS, jitterType: 'FULL', ...given })),
  }
}
