/**
 * H13: each end of a task that its callback wants is told, until the receiver has taken it; under one key, which no other end has; signed so that
 * the receiver can tell; and nothing is told that was not so. Callbacks are attempts like any other, so the limits hold for them, too.
 */

import type { Visit } from '../../servers/start.mjs'
import { atMost, type Check, FOREVER, GRAIN_MS, grouped, mostAtOnce, pairs } from '../checks.ts'
import { ownRows, toldAt, untoldEnds, wantedEnds, wants } from './ends.ts'
import { callbackOf, type Index, redrivesIn, type Said } from './facts.ts'
import { ENDS, type End, type Intent } from './intents.ts'
import type { CallbackVisit } from './receiver.ts'

type Laws = Readonly<Record<string, readonly string[]>>

export function callbackLaws(index: Index): Laws {
  const { facts } = index
  const { callbacks } = facts
  const ends = callbacks.filter(({ message }) => message)
  return {
    'H13 ends that were not told': notTold(index),
    'H13 callbacks that do not verify': callbacks
      .filter(({ fault }) => fault !== null)
      .map((visit) => `${nameOf(visit)}: ${visit.fault}`),
    'H13 ends told under two keys': several(ends, endIn, keysIn),
    'H13 keys under which two ends are told': several(ends, keysIn, endIn),
    'H13 ends told in two ways': several(ends, endIn, ({ text }) => text),
    'H13 ends with two tasks': severalTasks(index),
    'H13 told, and not so': callbacks.flatMap((visit) => {
      const why = wrongIn(index, visit)
      return why === undefined ? [] : [`${nameOf(visit)}: ${why}`]
    }),
    'H13 one end told as two': toldTwice(index, ends),
    'H4 callbacks sent again before the attempt was over': sentTwice(index),
  }
}

/** In flight at once, together with what goes to targets: callbacks take the same places. */
export function callbackChecks(index: Index): readonly Check[] {
  const { callbacks, visits, limit, limitPerOrigin, intents } = index.facts
  const tenants = new Map(intents.map(({ name, tenant }) => [name, tenant]))
  const most = (group: (visit: CallbackVisit) => string | undefined) => {
    const groups = [...grouped(callbacks, group)].filter(([name]) => name !== undefined)
    return Math.max(0, ...groups.map(([, own]) => openAtOnce(index, own)))
  }
  return [
    atMost('H8 requests at once, callbacks among them', openAtOnce(index, [...visits, ...callbacks]), limit),
    atMost(
      'H8 callbacks at once of a tenant',
      most(({ intent }) => `${tenants.get(intent)}`),
      limitPerOrigin,
    ),
    atMost(
      'H8 callbacks at once of a process',
      most(({ by }) => by ?? undefined),
      limitPerOrigin,
    ),
  ]
}

/** In flight at once, at most. */
export const openAtOnce = (index: Index, visits: readonly Visit[]): number =>
  mostAtOnce(
    visits
      .filter((visit) => !index.isLate(visit))
      .map((visit) => [visit.startedAt + GRAIN_MS, overAt(index, visit) - GRAIN_MS] as const),
  )

/** A visit with a callback is judged by the story of the callback's own task. */
const overAt = (index: Index, visit: Visit): number =>
  'message' in visit ? index.overAt(visit, storyOf(index, visit)) : index.overAt(visit)

const storyOf = ({ callbackRows, facts }: Index, { key }: Visit): readonly Said[] =>
  facts.stories.get(callbackRows.get(key ?? '')?.[0]?.taskId ?? '') ?? []

const nameOf = ({ intent, attempt, by, message }: CallbackVisit): string =>
  `visit ${attempt} of ${intent} by ${by ?? 'an unknown process'}, ${message?.type ?? 'unreadable'}`

/** An end, as a callback tells it. */
export const endIn = ({ message }: CallbackVisit): string =>
  `${message?.data.taskId} ${message?.type} ${message?.timestamp}`
const keysIn = ({ key, webhookId }: CallbackVisit): string => `${key} ${webhookId}`

/** What a task stood at whenever nothing was left to do has to have been told by then, or at the end. */
function notTold(index: Index): readonly string[] {
  const { quiet, callbacks, intents, stories, rows } = index.facts
  return [...quiet, { at: FOREVER, rows }].flatMap(({ at, rows: stood }) => {
    const since = (taskId: string) => {
      const put = redrivesIn(stories.get(taskId)).filter((redrivenAt) => redrivenAt <= at)
      return (put.at(-1) ?? Number.NEGATIVE_INFINITY) - GRAIN_MS
    }
    return untoldEnds(wantedEnds(stood, intents), callbacks, since).map(({ intent, taskId, end }) => {
      const made = (index.callbacksOf.get(taskId) ?? []).map(({ status }) => status).join(', ')
      return `${intent}, task ${taskId}: ${end}; tasks that tell its ends: ${made || 'none'}`
    })
  })
}

/** The groups in which something that has to be one is several. */
function several(
  visits: readonly CallbackVisit[],
  group: (visit: CallbackVisit) => string,
  of: (visit: CallbackVisit) => string,
): readonly string[] {
  return [...grouped(visits, group)].flatMap(([name, own]) => {
    const values = new Set(own.map(of))
    return values.size > 1 ? [`${name}: ${[...values].join(' and ')}`] : []
  })
}

function severalTasks({ callbackRows }: Index): readonly string[] {
  return [...callbackRows]
    .filter(([, rows]) => rows.length > 1)
    .map(([key, rows]) => `${key}: ${rows.map(({ taskId }) => taskId).join(' and ')}`)
}

/** Why a callback says what is not so; undefined: it does not. */
function wrongIn(index: Index, visit: CallbackVisit): string | undefined {
  const { facts, intents, callbackRows } = index
  const { message, key, webhookId } = visit
  const intent = intents.get(visit.intent)
  if (!message) return `it says ${visit.text.slice(0, 100)}`
  if (!intent?.callback) return 'no task has asked for it'
  const { taskId, tenant, idempotencyKey, targetUrl } = message.data
  const end = ENDS.find((each) => message.type === `task.${each}`)
  if (!end || !wants(intent, end)) return `it is for ${(intent.callback.on ?? ENDS).join(', ')}`
  const row = ownRows(facts.rows, [intent])[0]?.[1]
  if (row?.taskId !== taskId) return `it is about task ${taskId}, and that of the intent is ${row?.taskId}`
  const [told, is] = [
    [tenant, idempotencyKey, targetUrl],
    [intent.tenant, intent.key, `${facts.targets[intent.origin]}/work`],
  ]
  if (told.join() !== is.join()) return `it tells of ${told.join(', ')}, and it is ${is.join(', ')}`
  const [own] = callbackRows.get(key ?? '') ?? []
  if (!own || callbackOf(own) !== taskId) return `its key ${key} is that of no task that tells this one`
  if (webhookId !== null && webhookId !== own.taskId) return `webhook-id ${webhookId} is not its task, ${own.taskId}`
  if (toldAt(visit) > visit.startedAt + GRAIN_MS) return 'the end is one of the future'
  return hasEnded(index, intent, end, toldAt(visit)) ? undefined : 'the history of the task has no such end'
}

/** Whether the story has this end at its time, between the redrives around it; and of a success, whether the target had answered with one. */
function hasEnded({ facts, visits, storyOf }: Index, intent: Intent, end: End, at: number): boolean {
  const story = storyOf(intent.name)
  const redrives = redrivesIn(story)
  const from = Math.max(Number.NEGATIVE_INFINITY, ...redrives.filter((each) => each <= at))
  const until = Math.min(FOREVER, ...redrives.filter((each) => each > at))
  const isThere = story.some((line) => {
    // a stopped process may tell its success after a redrive, and its line has the time of the attempt
    const isAfter = end === 'succeeded' || line.at >= from - GRAIN_MS
    return line.kind === end && isAfter && line.at <= until + GRAIN_MS
  })
  if (!isThere) return false
  if (end === 'cancelled') return facts.calls.some(({ kind, intent: of }) => kind === 'cancel' && of === intent.name)
  const made = visits.get(intent.name) ?? []
  return end !== 'succeeded' || made.some(({ status, startedAt }) => status === 200 && startedAt <= at)
}

/** Between two redrives a task has each of its ends once. */
function toldTwice(index: Index, ends: readonly CallbackVisit[]): readonly string[] {
  const spans = (visit: CallbackVisit) => {
    const redrives = redrivesIn(index.facts.stories.get(visit.message?.data.taskId ?? ''))
    const span = redrives.filter((at) => at <= toldAt(visit)).length
    return `${visit.message?.data.taskId} ${visit.message?.type} after ${span} redrives`
  }
  return several(ends, spans, ({ message }) => message?.timestamp ?? '')
}

function sentTwice(index: Index): readonly string[] {
  const sent = index.facts.callbacks.filter((visit) => !index.isLate(visit))
  return pairs(
    [...sent].sort((a, b) => a.startedAt - b.startedAt),
    ({ key }) => `${key}`,
  )
    .filter(([before, after]) => after.startedAt + GRAIN_MS < overAt(index, before))
    .map(([before, after]) => {
      return `${nameOf(after)} came ${Math.round(overAt(index, before) - after.startedAt)} ms before ${nameOf(before)} was over`
    })
}
