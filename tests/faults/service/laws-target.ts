/** The laws about what the target sees. */

import type { Visit } from '../../servers/start.mjs'
import { FOREVER, GRAIN_MS, TICK_MS } from '../checks.ts'
import { type Cancel, firstAsked, type Index, receipts } from './facts.ts'

type Laws = Readonly<Record<string, readonly string[]>>

/** From a claim to the arrival of its request, on a machine with other work: what was claimed before a pause is in flight. */
const ON_ITS_WAY_MS = 1_500

export function targetLaws(index: Index, cancels: ReadonlyMap<string, Cancel>): Laws {
  return {
    'H2 sent without a call for it': unasked(index),
    'H5 attempts that do not count up': uncounted(index),
    'H6 another key than its client gave': otherKeys(index),
    'H9 attempts beyond the policy': tooMany(index),
    'H9 sent after its cancel was answered': sentAfterCancel(index, cancels),
    'H9 cancelled, and shown otherwise': [...cancels].flatMap(([taskId, { answer }]) =>
      wrongEnd(index, taskId, answer),
    ),
    'H9 sent while its origin was paused': sentInPause(index),
    'H10 sent before its delay': sentEarly(index),
    'H10 sent before the wait that was told': sentTooSoon(index),
    'H11 orders not kept': outOfOrder(index),
  }
}

const nameOf = ({ intent, attempt, by }: Visit): string =>
  `visit ${attempt} of ${intent} by ${by ?? 'an unknown process'}`

/** No visit of what was never asked for, nor of what was refused. */
function unasked({ facts, intents }: Index): readonly string[] {
  const asked = new Set(facts.calls.filter(({ kind }) => kind === 'post').map(({ intent }) => intent))
  return facts.visits.filter(({ intent }) => !intents.has(intent) || !asked.has(intent)).map(nameOf)
}

/** Between two redrives the attempts of a task are 1, 2, 3 and so on, those included whose process was lost. */
function uncounted({ facts }: Index): readonly string[] {
  return [...facts.stories].flatMap(([taskId, story]) => {
    let last = 0
    const lost = new Set<number>()
    for (const { kind, data = {} } of story) {
      const { attemptNumber = 0 } = data
      if (kind === 'redriven') {
        last = 0
        lost.clear()
      }
      if (kind === 'released' && data.counted === false) last = Math.min(last, attemptNumber - 1)
      // a process that was only stopped may still tell that it had success
      if ((kind !== 'attempt' && kind !== 'lost') || lost.has(attemptNumber)) continue
      if (attemptNumber !== last + 1) return [`${taskId}: attempt ${attemptNumber} after ${last}`]
      if (kind === 'lost') lost.add(attemptNumber)
      last = attemptNumber
    }
    return []
  })
}

function otherKeys({ facts, intents }: Index): readonly string[] {
  return facts.visits
    .filter(({ intent, key }) => intents.has(intent) && intents.get(intent)?.key !== key)
    .map((visit) => `${nameOf(visit)} has ${visit.key}`)
}

function tooMany(index: Index): readonly string[] {
  const { facts, intents, visits, rows } = index
  return [...intents.values()].flatMap(({ name, policy: { maxAttempts } }) => {
    const taskId = index.taskOf(name)
    const refunds = index
      .storyOf(name)
      .filter(({ kind, data }) => kind === 'released' && data?.counted === false).length
    const most = maxAttempts * (1 + (facts.redriven.get(taskId) ?? 0)) + refunds
    const made = visits.get(name)?.length ?? 0
    const { attemptNumber = 0 } = rows.get(taskId) ?? {}
    const isWrong = made > most || attemptNumber > maxAttempts
    return isWrong ? [`${name}: ${made} made and ${attemptNumber} counted of ${maxAttempts}`] : []
  })
}

function sentAfterCancel(index: Index, cancels: ReadonlyMap<string, Cancel>): readonly string[] {
  return index.facts.visits
    .filter((visit) => {
      const { answer = '', answeredAt = FOREVER } = cancels.get(index.taskOf(visit.intent)) ?? {}
      return answer === 'cancelled' && visit.startedAt > answeredAt + GRAIN_MS && !index.isLate(visit)
    })
    .map(nameOf)
}

/** Statuses at the end, by what a cancel was told. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  cancelled: ['CANCELLED'],
  requested: ['CANCELLED', 'SUCCEEDED'],
  unknown: ['CANCELLED', 'SUCCEEDED', 'EXHAUSTED'],
}

function wrongEnd({ rows }: Index, taskId: string, answer: string): readonly string[] {
  const status = rows.get(taskId)?.status ?? 'not there'
  return ENDS[answer]?.includes(status) ? [] : [`${taskId} is ${status}, its cancel said ${answer}`]
}

function sentInPause(index: Index): readonly string[] {
  const { facts, intents } = index
  return facts.pauses.flatMap(({ origin, from, until }) =>
    facts.visits
      .filter(({ intent }) => facts.targets[intents.get(intent)?.origin ?? -1] === origin)
      .filter((visit) => visit.startedAt > from + ON_ITS_WAY_MS && visit.startedAt < until && !index.isLate(visit))
      .map((visit) => `${nameOf(visit)}, ${visit.startedAt - from} ms after the pause`),
  )
}

function sentEarly(index: Index): readonly string[] {
  return [...index.intents.values()].flatMap(({ name, delayMs }) => {
    const [first] = index.visits.get(name) ?? []
    if (!first || delayMs === 0) return []
    const early = firstAsked(index.facts.calls, name) + delayMs - first.startedAt
    return early > TICK_MS ? [`${name} ${early} ms early`] : []
  })
}

/** After each visit whose end was told to the store, with the wait that this was to bring. */
function sentTooSoon(index: Index): readonly string[] {
  return [...index.visits].flatMap(([, visits]) =>
    visits.flatMap((visit, i) => {
      const next = visits[i + 1]
      const line = index.lineOf(visit)
      if (!next || line?.kind !== 'retry' || index.isLate(next)) return []
      const early = index.endOf(visit) + (line.data?.delayMs ?? 0) - next.startedAt
      return early > TICK_MS ? [`${nameOf(next)} came ${early} ms early`] : []
    }),
  )
}

/** One whose post was answered before the other's was made for the first time comes first, as a whole. */
function outOfOrder(index: Index): readonly string[] {
  const { facts } = index
  const acknowledgedAt = new Map<string, number>()
  for (const { intent, endedAt } of receipts(facts.calls)) {
    acknowledgedAt.set(intent, Math.min(endedAt, acknowledgedAt.get(intent) ?? FOREVER))
  }
  const ordered = [...index.intents.values()].filter(({ name, orderKey }) => {
    return orderKey !== undefined && acknowledgedAt.has(name) && !facts.redriven.has(index.taskOf(name))
  })
  const visitsOf = (name: string) => (index.visits.get(name) ?? []).filter((visit) => !index.isLate(visit))
  return ordered.flatMap((first) =>
    ordered
      .filter(({ name, orderKey, tenant }) => {
        const isOfIt = orderKey === first.orderKey && tenant === first.tenant && name !== first.name
        return isOfIt && (acknowledgedAt.get(first.name) ?? FOREVER) < firstAsked(facts.calls, name)
      })
      .flatMap(({ name }) => {
        const over = Math.max(0, ...visitsOf(first.name).map((visit) => index.overAt(visit)))
        const next = Math.min(FOREVER, ...visitsOf(name).map(({ startedAt }) => startedAt))
        return next + GRAIN_MS < over ? [`${name} began ${over - next} ms before ${first.name} was over`] : []
      }),
  )
}
