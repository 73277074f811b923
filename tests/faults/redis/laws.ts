/**
 * What processes on one Redis are held to, by what callers were told, what processes wrote down of their leases, what the server saw
 * and what the store holds.
 */

import type { Visit } from '../../servers/start.mjs'
import {
  atMost,
  between,
  type Check,
  deadAreShown,
  FOREVER,
  grouped,
  mostAtOnce,
  none,
  pairs,
  type Still,
  stoodStill,
  TICK_MS,
  tally,
} from '../checks.ts'
import type { Held } from '../evidence.ts'
import { type Evidence, withoutAWord } from '../judge.ts'
import type { LeaseSpan } from '../log.ts'
import { endOf, overlaps, sentAt } from '../processes.ts'
import type { Call } from './callers.ts'
import { gaveWay, isForgotten, isInLag, knownSpans, lapsedIn, lostAt, mayBeGone, spanOf } from './lags.ts'

export interface Sample {
  /** Acknowledged before it was asked, and asked for when the answer had come. */
  readonly acknowledged: number
  readonly asked: number
  readonly total: number
}

/** A time in which something was wrong. */
export interface Span {
  readonly from: number
  readonly until: number
}

export interface RedisFacts extends Held, Still {
  readonly calls: readonly Call[]
  readonly leases: readonly LeaseSpan[]
  readonly visits: readonly Visit[]
  readonly effects: ReadonlyMap<string, number>
  readonly samples: readonly Sample[]
  /** Tasks that `list` gives as EXHAUSTED; and what became of those that were put back, by task. */
  readonly deadLetters: readonly string[]
  readonly redriven: ReadonlyMap<string, string>
  readonly deaths: readonly string[]
  /** What the processes said works less well than it should. */
  readonly degraded: readonly string[]
  readonly drained: boolean
  readonly limit: number
  readonly limitPerLane: number
  readonly maxAttempts: number
  /** What receipts may promise. */
  readonly durabilities: readonly string[]
  /** Times of which nothing may be left: before failovers, and before kills of a server that does not write at once. */
  readonly lags: readonly Span[]
  /** Times in which the server had no room. */
  readonly full: readonly Span[]
}

export function ofRedis(facts: RedisFacts): Evidence {
  const { calls, visits, effects, leases, counts, rows, drained, limit } = facts
  const tasks = calls.filter(({ request }) => request.kind === 'new')
  const accepted = tasks.filter(({ outcome }) => outcome === 'accepted')
  const ends = cancels(calls)
  const isCancelled = ({ taskId = '' }: Call) => ends.has(taskId)
  const sure = accepted.filter((call) => {
    return !isCancelled(call) && !mayBeGone(call, facts)
  })
  const bySpan = new Map(leases.map((lease) => [`${lease.life} ${lease.token}`, lease]))
  const leaseOf = ({ by }: Visit) => (by === null ? undefined : bySpan.get(by.split(' ').slice(0, 2).join(' ')))
  const overAt = (visit: Visit) => {
    const lease = leaseOf(visit)
    const { until = FOREVER, endedAt = FOREVER } = lease ?? {}
    return Math.min(visit.endedAt ?? FOREVER, until, endedAt, lease ? lostAt(lease, facts) : FOREVER)
  }
  const hasTold = (visit: Visit) => {
    const { answer, settlingAt = FOREVER } = leaseOf(visit) ?? {}
    return answer === 'applied' && !isInLag(facts.lags, settlingAt, settlingAt)
  }
  return {
    acknowledged: new Map(sure.map(({ request: { intent }, taskId = '' }) => [intent, taskId])),
    deadLetters: facts.deadLetters,
    found: facts.found,
    visits,
    effects,
    drained,
    // what has given way is counted as purged, and a law of its own
    store: { counts: facts.full.length > 0 ? { ...counts, purged: 0 } : counts, rows },
    left: counts.pending + counts.inFlight,
    attempts: {
      overAt,
      sentAt,
      hasTold,
      limit: { most: limit, counts: () => true },
    },
    never: {
      'refused for no reason': refusals(calls),
      'accepted with another promise': accepted
        .filter(({ durability = '' }) => !facts.durabilities.includes(durability) && durability !== 'memory')
        .map(({ request, durability }) => `${request.intent}: ${durability}`),
      'kept in memory without a word': withoutAWord(
        accepted.filter(({ durability }) => durability === 'memory').map(({ request }) => request.intent),
        facts.degraded,
      ),
      'processes that ended by themselves': facts.deaths,
      'H2 sent without a call for it': uncalled(facts),
      'H5 tokens given twice': givenTwice(facts),
      'H5 tokens that fall': fallingTokens(facts),
      'H4 tasks leased to two at once': leasedTwice(facts),
      'H7 the same key, and another task': otherTasks(facts),
      'H7 another request under a key taken': conflictsTaken(facts),
      'H9 attempts beyond the policy': tooMany(facts),
      'H9 sent after its cancel was answered': sentAfterCancel(facts, ends),
      'H9 cancelled, and shown otherwise': [...ends].flatMap(([taskId, { answer }]) => wrongEnd(facts, taskId, answer)),
      'H10 leased before its wait was over': leasedEarly(facts),
      'H11 orders not kept': outOfOrder(facts),
      'H12 put back under another id': [...facts.redriven].flatMap(([taskId, said]) =>
        said === 'redriven' || said === 'gone' ? [] : [`${taskId}: ${said}`],
      ),
      'S17 refused for want of room, and sent': refusedAndSent(facts),
    },
    own: [
      atMost('H8 leases at once', mostAtOnce(knownSpans(facts, leases)), limit),
      ...[...grouped(leases, ({ lane }) => lane)].map(([lane, own]) =>
        atMost(`H8 leases at once, ${lane}`, mostAtOnce(knownSpans(facts, own)), facts.limitPerLane),
      ),
      besideTheRows(facts),
      ...givenWay(facts),
      samplesFit(facts),
      deadAreShown(rows, facts.deadLetters),
      stoodStill(facts),
      ...settledWhenFull(facts),
    ],
  }
}

interface Cancel {
  readonly answer: string
  readonly askedAt: number
  readonly answeredAt: number
}

/** Cancels that were not refused, by task. */
function cancels(calls: readonly Call[]): Map<string, Cancel> {
  const found = new Map<string, Cancel>()
  for (const { request, outcome, durability = '', askedAt, endedAt } of calls) {
    if (request.kind !== 'cancel') continue
    const answer = outcome === 'accepted' ? durability : 'unknown'
    found.set(request.taskId ?? '', { answer, askedAt, answeredAt: endedAt })
  }
  return found
}

/** A store that is away, or full, may refuse; another request under a key must be. */
const MAY_BE = new Set(['STORAGE_FULL'])
function refusals(calls: readonly Call[]): string[] {
  return calls
    .filter(({ outcome, code = '', request }) => {
      return outcome === 'refused' && !MAY_BE.has(code) && request.kind !== 'conflict'
    })
    .map(({ request, message, code }) => `${request.intent}: ${code} ${message}`)
}

function uncalled({ calls, visits }: RedisFacts): string[] {
  const asked = new Set(calls.map(({ request }) => request.body.intent))
  return [...new Set(visits.map(({ intent }) => intent).filter((intent) => !asked.has(intent)))]
}

/** The key of a task that was deleted may be another's. */
function otherTasks(facts: RedisFacts): string[] {
  const { calls } = facts
  const gone = new Set(calls.filter((call) => mayBeGone(call, facts)).map(({ taskId }) => taskId))
  return calls
    .filter(({ request, outcome, taskId }) => {
      const isOther = request.kind === 'again' && outcome === 'accepted' && taskId !== request.taskId
      return isOther && !gone.has(request.taskId)
    })
    .map(({ request, taskId }) => `${request.intent} is ${taskId}, and was ${request.taskId}`)
}

function conflictsTaken(facts: RedisFacts): string[] {
  const { calls, visits } = facts
  const gone = new Set(calls.filter((call) => mayBeGone(call, facts)).map(({ taskId }) => taskId))
  const sent = new Set(visits.map(({ intent }) => intent))
  return calls
    .filter(({ request, outcome, code }) => {
      if (request.kind !== 'conflict' || gone.has(request.taskId)) return false
      const isWrong = outcome === 'refused' && code !== 'IDEMPOTENCY_CONFLICT' && !MAY_BE.has(code ?? '')
      return outcome === 'accepted' || isWrong || sent.has(request.intent)
    })
    .map(({ request, outcome, code = '' }) => `${request.intent} was ${outcome} ${code}`)
}

function givenTwice(facts: RedisFacts): string[] {
  const given = new Map<number, LeaseSpan>()
  return facts.leases.flatMap((lease) => {
    const other = given.get(lease.token)
    given.set(lease.token, lease)
    if (!other) return []
    return [`${lease.token} of ${lease.life} for ${lease.taskId}, of ${other.life} for ${other.taskId}`]
  })
}

/** The store's time does not fall, so neither may tokens in its order. */
function fallingTokens({ leases }: RedisFacts): string[] {
  const byToken = [...leases].sort((a, b) => a.token - b.token)
  return pairs(byToken, () => '')
    .filter(([before, after]) => after.from < before.from)
    .map(([before, after]) => `${after.token} came ${before.from - after.from} ms before ${before.token}`)
}

const known = (facts: RedisFacts): readonly LeaseSpan[] =>
  facts.leases.filter((lease) => !isForgotten(lease, facts)).sort((a, b) => a.from - b.from)

const leasedTwice = (facts: RedisFacts): string[] =>
  overlaps(known(facts), (before, after) => !lapsedIn(before, after.from, facts))

function tooMany({ visits, rows, leases, calls, maxAttempts, redriven }: RedisFacts): string[] {
  const intents = new Map(calls.map(({ request, taskId = '' }) => [taskId, request.intent]))
  const sent = tally(visits.map(({ intent }) => intent))
  return rows.flatMap(({ taskId, attemptNumber }) => {
    const refunds = leases.filter((lease) => lease.taskId === taskId && lease.isRefunded).length
    const most = (maxAttempts + refunds) * (redriven.has(taskId) ? 2 : 1)
    const made = sent.get(intents.get(taskId) ?? '') ?? 0
    return attemptNumber > maxAttempts || made > most ? [`${taskId}: ${attemptNumber} counted, ${made} made`] : []
  })
}

type Ends = ReturnType<typeof cancels>
const NEVER: Cancel = { answer: '', askedAt: FOREVER, answeredAt: FOREVER }

function sentAfterCancel({ leases, lags }: RedisFacts, ends: Ends): string[] {
  return leases.flatMap(({ taskId, from, token }) => {
    const { answer, askedAt, answeredAt } = ends.get(taskId) ?? NEVER
    const isSent = answer === 'cancelled' && from > answeredAt && !isInLag(lags, askedAt, answeredAt)
    return isSent ? [`${taskId} by token ${token}`] : []
  })
}

function wrongEnd({ rows, lags, leases, calls, full }: RedisFacts, taskId: string, answer: string): string[] {
  const its = calls.filter((call) => call.taskId === taskId || call.request.taskId === taskId)
  const spans = [
    ...its.map(({ askedAt, endedAt }) => [askedAt, endedAt] as const),
    ...leases.filter((lease) => lease.taskId === taskId).map(spanOf),
  ]
  if (spans.some(([from, until]) => isInLag(lags, from, until))) return []
  const status = rows.find((row) => row.taskId === taskId)?.status ?? 'not there'
  if (full.length > 0 && status === 'not there') return []
  const wanted: Record<string, readonly string[]> = {
    cancelled: ['CANCELLED'],
    requested: ['CANCELLED', 'SUCCEEDED'],
    // its own first try may have done it, whose answer was lost
    gone: ['SUCCEEDED', 'EXHAUSTED', 'CANCELLED'],
    unknown: ['CANCELLED', 'SUCCEEDED', 'EXHAUSTED'],
  }
  return wanted[answer]?.includes(status) ? [] : [`${taskId} is ${status}, its cancel said ${answer}`]
}

function leasedEarly(facts: RedisFacts): string[] {
  return pairs(known(facts), ({ taskId }) => taskId)
    .filter(([before, after]) => {
      const { waitsUntil } = before
      return waitsUntil !== undefined && after.from < waitsUntil - TICK_MS && !lapsedIn(before, after.from, facts)
    })
    .map(([{ waitsUntil = 0, taskId }, { from }]) => `${taskId}: ${Math.round(waitsUntil - from)} ms early`)
}

/** One whose enqueue was answered before the other's was asked for comes first, as a whole. */
function outOfOrder({ calls, leases, lags, redriven }: RedisFacts): string[] {
  const spans = grouped(leases, ({ taskId }) => taskId)
  const ordered = calls.filter(({ request, outcome, taskId = '' }) => {
    return request.kind === 'new' && request.orderKey !== undefined && outcome === 'accepted' && !redriven.has(taskId)
  })
  const isTouched = ({ askedAt, endedAt, taskId = '' }: Call) =>
    isInLag(lags, askedAt, endedAt) ||
    (spans.get(taskId) ?? []).some((lease) => isInLag(lags, lease.from, endOf(lease)))
  // one that is asked for again may have been there since the first time
  const askedFirst = new Map<string, number>()
  for (const { request, askedAt } of calls) {
    if (!askedFirst.has(request.intent)) askedFirst.set(request.intent, askedAt)
  }
  const untouched = ordered.filter((call) => !isTouched(call))
  return untouched.flatMap((first) =>
    untouched
      .filter(({ request: { orderKey, intent } }) => {
        return orderKey === first.request.orderKey && first.endedAt < (askedFirst.get(intent) ?? 0)
      })
      .flatMap((second) => {
        const [early, late] = [first, second].map(({ taskId = '' }) => spans.get(taskId) ?? [])
        const last = Math.max(0, ...(early ?? []).map(endOf))
        const next = Math.min(FOREVER, ...(late ?? []).map(({ from }) => from))
        const ends = `${second.request.intent} began ${Math.round(last - next)} ms before ${first.request.intent} was over`
        return next < last ? [ends] : []
      }),
  )
}

/** What is refused for want of room is not there: its caller has been told so. */
function refusedAndSent({ calls, visits }: RedisFacts): string[] {
  const sent = new Set(visits.map(({ intent }) => intent))
  return calls
    .filter(({ request, outcome, code }) => {
      return outcome === 'refused' && code === 'STORAGE_FULL' && request.key === undefined && sent.has(request.intent)
    })
    .map(({ request }) => request.intent)
}

/** A request that was not answered may be there or not; no other row may. */
function besideTheRows(facts: RedisFacts): Check {
  const { calls, rows } = facts
  const accepted = new Set(calls.filter(({ outcome }) => outcome === 'accepted').map(({ request }) => request.intent))
  const news = calls.filter(({ request }) => request.kind === 'new')
  const taken = new Set(news.filter(({ request }) => accepted.has(request.intent)).map(({ request }) => request.intent))
  const lost = news.filter((call) => call.outcome === 'accepted' && mayBeGone(call, facts)).length
  // one that is not known is a task of its own each time it is asked for, which is its store's to cancel
  const unknown = news.filter(({ outcome }) => outcome === 'unknown' || outcome === 'open').length
  return between('H3 accepted beside the rows', [taken.size - lost, taken.size + unknown], rows.length)
}

/** Tasks give way in a server without memory alone, and each is counted. */
function givenWay(facts: RedisFacts): readonly Check[] {
  if (facts.full.length === 0) return []
  const gone = facts.calls.filter(({ request, outcome }) => request.kind === 'new' && outcome === 'accepted')
  return [atMost('S17 gave way to others', gone.filter((call) => gaveWay(call, facts)).length, facts.counts.purged)]
}

function samplesFit(facts: RedisFacts): Check {
  const { samples, calls } = facts
  const gone = calls.filter((call) => call.outcome === 'accepted' && mayBeGone(call, facts)).length
  const wrong = samples.filter(({ acknowledged, asked, total }) => total < acknowledged - gone || total > asked)
  return none(
    `H3 counts() while it ran, ${samples.length} times`,
    wrong.map(({ acknowledged, asked, total }) => `${total} counted, ${acknowledged} acknowledged, ${asked} asked for`),
  )
}

/** A server without room still takes what frees it. */
function settledWhenFull({ full, leases }: RedisFacts): readonly Check[] {
  if (full.length === 0) return []
  const inIt = (at: number) => full.some(({ from, until }) => at > from && at < until)
  const tried = leases.filter(({ settlingAt }) => inIt(settlingAt))
  const done = tried.filter(({ answer }) => answer !== undefined)
  return [
    {
      label: 'S17 settled while there was no room',
      found: `${done.length} of ${tried.length}`,
      wanted: 'at least half',
      ok: done.length * 2 >= tried.length,
      offenders: [],
    },
  ]
}
