/**
 * The laws that a run of the service is held to, by what clients were told, what the target saw and what the API lists. Numbers
 * are those of tests/faults/redis/laws.ts; a service tells no tokens, so H4 and H5 are judged by visits and by the story of each task.
 */

import type { Visit } from '../../servers/start.mjs'
import { atMost, between, type Check, deadAreShown, grouped, none, stoodStill } from '../checks.ts'
import type { Evidence } from '../judge.ts'
import { cancelsOf, Index, type ServiceFacts } from './facts.ts'
import { callbackChecks, callbackLaws, openAtOnce } from './laws-callbacks.ts'
import { callerLaws, exitLaws } from './laws-callers.ts'
import { targetLaws } from './laws-target.ts'

export function ofService(facts: ServiceFacts): Evidence {
  const index = new Index(facts)
  const cancels = cancelsOf(facts)
  const acknowledged = [...index.tasks].filter(([, [taskId = '']]) => !cancels.has(taskId))
  const { counts, rows, visits, effects } = facts
  return {
    acknowledged: new Map(acknowledged.map(([intent, [taskId = '']]) => [intent, taskId])),
    found: facts.found,
    deadLetters: facts.deadLetters,
    visits,
    effects,
    drained: facts.drained,
    store: { counts, rows },
    left: counts.pending + counts.inFlight,
    attempts: {
      overAt: (visit) => index.overAt(visit),
      // one that came late is compared with none
      sentAt: (visit) => (index.isLate(visit) ? Number.MAX_SAFE_INTEGER : visit.startedAt),
      // a wait of which its process could tell the store
      hasTold: (visit, next) => index.lineOf(visit) !== undefined && !index.isLate(next),
      limit: { most: facts.limit, counts: (visit) => !index.isLate(visit) },
    },
    never: {
      ...callerLaws(index),
      ...targetLaws(index, cancels),
      ...callbackLaws(index),
      ...exitLaws(facts),
    },
    own: [
      ...perOrigin(index),
      ...callbackChecks(index),
      besideTheRows(index),
      samplesFit(facts),
      deadAreShown(rows, facts.deadLetters),
      stoodStill(facts),
    ],
  }
}

/** In flight to one origin, at most so many: of a tenant over all processes, and of all tenants by one process. */
function perOrigin(index: Index): readonly Check[] {
  const { facts, intents } = index
  const laneOf = ({ intent }: Visit) => {
    const { origin = '', tenant = '' } = intents.get(intent) ?? {}
    return `${origin} ${tenant}`
  }
  const senderOf = ({ intent, by }: Visit) => (by === null ? undefined : `${intents.get(intent)?.origin} ${by}`)
  const most = (group: (visit: Visit) => string | undefined) => {
    const groups = [...grouped(facts.visits, group)].filter(([name]) => name !== undefined)
    return Math.max(0, ...groups.map(([, own]) => openAtOnce(index, own)))
  }
  return [
    atMost('H8 requests at once of a tenant to an origin', most(laneOf), facts.limitPerOrigin),
    atMost('H8 requests at once of a process to an origin', most(senderOf), facts.limitPerOrigin),
  ]
}

/** A post that was not answered may be there or not; no other row may, but for those that tell ends. */
function besideTheRows({ facts: { calls }, posted: rows, tasks }: Index): Check {
  const asked = new Set(calls.filter(({ kind }) => kind === 'post').map(({ intent }) => intent))
  return between('H3 accepted beside the rows', [tasks.size, asked.size], rows.length)
}

function samplesFit({ samples }: ServiceFacts): Check {
  const wrong = samples.filter(({ acknowledged, asked, ends, total }) => total < acknowledged || total > asked + ends)
  const words = wrong.map(({ acknowledged, asked, ends, total }) => {
    return `${total} counted, ${acknowledged} acknowledged, ${asked} asked for, ${ends} ends at most`
  })
  return none(`H3 /stats while it ran, ${samples.length} times`, words)
}
