/**
 * What callers wish for beside their calls, and servers ration: drawn apart and laid over a world, so that the world goes as it would
 * without, until one of them has a say.
 */

import { type Dice, dice } from './dice.ts'
import type { Answer, CallSpec, Rate, Says, Scenario, Step } from './scenario.ts'

const SAYS: readonly Says[] = ['ends', 'ends later', 'insists', 'hurries', 'lingers']
const RATES: readonly Rate[] = [
  { perSecond: 0.2, burst: 1 },
  { perSecond: 1, burst: 1 },
  { perSecond: 0.5, burst: 3 },
]

export function withWishes(scenario: Scenario): Scenario {
  const chance = dice(scenario.seed ^ 0x5eed_0018)
  const isTabs = scenario.store === 'tabs' || scenario.store === 'indexeddb'
  const rate = chance.chance(0.25) ? { rate: chance.pick(RATES) } : {}
  const limitsFirst = chance.chance(0.25) ? { limitsFirst: true } : {}
  const hooks = chance.chance(0.6)
  const calls = new Map<CallSpec, CallSpec>()
  const wished = (call: CallSpec): CallSpec => {
    const known = calls.get(call) ?? { ...call, ...wishOf(chance, hooks) }
    calls.set(call, known)
    return known
  }
  const steps = scenario.steps.flatMap((step) => stepsOf(chance, step, wished))
  // a tab that waits for its rate is no tab that sleeps over its work, which the book could not tell apart (L3)
  return { ...scenario, ...(isTabs ? {} : rate), ...limitsFirst, ...(hooks ? { hooks } : {}), steps }
}

function stepsOf(chance: Dice, step: Step, wished: (call: CallSpec) => CallSpec): readonly Step[] {
  if (step.do === 'answers') return [{ ...step, answers: step.answers.map((answer) => rationed(chance, answer)) }]
  if (step.do === 'outage') return [{ ...step, answer: rationed(chance, step.answer) }]
  if (step.do !== 'enqueue' && step.do !== 'fetch') return [step]
  const { at } = step
  const call = wished(step.call)
  const { origin, says, refreshes } = call
  // an answer that has a say
  const status = step.do === 'fetch' && refreshes ? 401 : says === 'insists' ? 400 : undefined
  if (status === undefined || !chance.chance(0.7)) return [{ ...step, call }]
  const answer = { status, latencyMs: chance.between(1, 80) }
  const answers = Array.from({ length: chance.between(1, 3) }, () => answer)
  return [
    { at, do: 'answers', origin, answers },
    { ...step, call },
  ]
}

/** Most calls have none. */
function wishOf(chance: Dice, hooks: boolean): Pick<CallSpec, 'says' | 'refreshes'> {
  const says = hooks && chance.chance(0.3) ? { says: chance.pick(SAYS) } : {}
  return { ...says, ...(chance.chance(0.15) ? { refreshes: true } : {}) }
}

/** Some servers that refuse say how much of a quota is left, and few of those that do not; to redirect is no answer yet. */
function rationed(chance: Dice, answer: Answer): Answer {
  if (answer.redirect) return answer
  if (!chance.chance(answer.status === 429 || answer.status === 503 ? 0.3 : 0.05)) return answer
  return { ...answer, limit: { seconds: chance.pick([1, 5, 30]), isPartition: chance.chance(0.6) } }
}
