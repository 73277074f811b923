/** The figures of a run, for people: how much there was of what its laws are about. */

import { tally } from '../checks.ts'
import { type Figure, words } from '../evidence.ts'
import { isHeard, ownRows, wants } from './ends.ts'
import type { Story } from './evidence.ts'
import type { Index, ServiceFacts } from './facts.ts'
import type { Fleet } from './fleet.ts'
import { ENDS } from './intents.ts'
import { endIn } from './laws-callbacks.ts'
import { crossesClose } from './laws-callers.ts'

export function figuresOf(
  { options, fleet, clients, tookMs, samples }: Story,
  facts: ServiceFacts,
  index: Index,
): readonly Figure[] {
  const { calls, visits, callbacks, rows, exits, stories, redriven, pauses } = facts
  const answered = calls.filter(({ outcome }) => outcome === 'answered')
  const posts = calls.filter(({ kind }) => kind === 'post' || kind === 'again')
  const of = (status: string) => index.posted.filter((row) => row.status === status).length
  const outcomes = tally(visits.map(({ outcome }) => outcome ?? 'open'))
  const told = tally([...stories.values()].flatMap((story) => story.map(({ kind }) => kind)))
  const unknown = visits.filter(({ by }) => by === null).length
  const count = (kind: Parameters<Fleet['count']>[0]) => fleet.count(kind)
  return [
    ['tasks asked for', clients.asked, `${calls.length} requests by clients`],
    [
      'acknowledged',
      clients.acknowledged,
      `${posts.filter(({ status }) => status === 200).length} times as there already`,
    ],
    [
      'not answered',
      calls.length - answered.length,
      words(tally(calls.filter((call) => !answered.includes(call)).map(({ outcome }) => outcome))),
    ],
    ['  crossed the close of its connection', calls.filter((call) => crossesClose(call, facts.struck)).length, ''],
    [
      'refused for now',
      answered.filter(({ status }) => status === 503).length,
      words(tally(answered.filter(({ status }) => status === 503).map(({ said = '' }) => said))),
    ],
    ['succeeded', of('SUCCEEDED'), ''],
    ['dead letters', of('EXHAUSTED'), `${[...redriven.values()].reduce((sum, times) => sum + times, 0)} redrives`],
    ['cancelled', of('CANCELLED'), ''],
    ['processes killed', count('kill'), `${fleet.lives} started`],
    ['stopped past their leases', count('stop'), ''],
    [
      'told to end while they worked',
      count('drain'),
      `the slowest took ${Math.max(0, ...exits.map(({ tookMs }) => tookMs))} ms`,
    ],
    ...(options.store === 'redis'
      ? [['Redis killed', count('redis'), 'it syncs its file before it answers'] as const]
      : []),
    ['pauses of an origin', pauses.length, ''],
    ['requests at the target', visits.length, words(outcomes)],
    ['  answered from the key', outcomes.get('repeated') ?? 0, 'duplicates: the work was done, the answer lost'],
    ['  of an unknown process', unknown, 'it had ended before it could be asked'],
    ...callbackFigures(index),
    ['callbacks that arrived', callbacks.length, words(tally(callbacks.map(({ outcome }) => outcome ?? 'open')))],
    ['attempts lost with their process', told.get('lost') ?? 0, `${told.get('released') ?? 0} given back`],
    ['most attempts of a task', Math.max(0, ...rows.map(({ attemptNumber }) => attemptNumber)), ''],
    ['most visits of a task', Math.max(0, ...[...index.visits.values()].map((each) => each.length)), ''],
    ['/stats read', samples.length, ''],
    ['seconds', (tookMs / 1_000).toFixed(1), `${Math.round(facts.stoodStillMs)} ms without a move after the blows`],
  ]
}

/** Ends that were to be told, by the histories of all tasks, and those that were. */
function callbackFigures(index: Index): readonly Figure[] {
  const { callbacks, rows, intents, stories } = index.facts
  const wished = ownRows(rows, intents).filter(([{ callback }]) => callback)
  const ends = wished.flatMap(([intent, { taskId }]) =>
    (stories.get(taskId) ?? []).filter(({ kind }) => ENDS.some((end) => end === kind && wants(intent, end))),
  )
  const told = new Set(callbacks.filter(isHeard).map(endIn)).size
  const arrived = callbacks.filter((visit) => isHeard(visit) || visit.outcome?.endsWith('_after'))
  const repeats = arrived.length - new Set(arrived.map(({ key }) => key)).size
  const redriven = index.facts.redriven.size
  return [
    ['tasks with a callback', wished.length, ''],
    ['ends that it wants', ends.length, `${redriven} tasks were put back, some before their end was told`],
    ['ends told', told, `${ends.length - told} were put back, or changed, before`],
    ['  told again', repeats, 'duplicates: the receiver had it, its answer was lost or the process was'],
  ]
}
