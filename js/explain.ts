/** The decisions about a task in words, for people who ask why it is where it is. */

import type { Standing } from './decision.ts'
import { type Entry, serverWait, timeOf } from './log.ts'
import type { Task } from './task.ts'
import type { Decision, DecisionKind } from './types.ts'

/** `standing`: what it waits for at `now`; undefined: it has ended. */
export function explain(task: Task, standing: Standing | undefined, now: number): readonly Decision[] {
  const decisions: Decision[] = []
  const add = (at: number, kind: DecisionKind, text: string) => decisions.push({ at, kind, text })
  const { policyId, status } = task
  add(task.createdAt, 'queued', `${task.what}, policy '${policyId}'${task.key === null ? '' : ', with a key'}`)
  const end = task.entries.at(-1)
  for (const entry of task.entries) {
    if (entry.sent) add(entry.startedAt, 'attempt', `attempt ${entry.attemptNumber} was sent`)
    if (!isLast(entry)) add(entry.startedAt + entry.durationMs, entry.kind, wordsOf(entry))
    // put back since
    else if (entry !== end) add(entry.startedAt + entry.durationMs, 'exhausted', givenUp(entry, entry.next))
  }
  // what it ended with may be long past: it was waiting
  const last = end && isLast(end) ? end : undefined
  if (standing) add(now, 'waits', waitsFor(standing))
  else if (status === 'EXHAUSTED') add(task.endedAt, 'exhausted', givenUp(last, task.reason))
  else if (status === 'CANCELLED') add(task.endedAt, 'cancelled', `${happened(last)}cancelled`)
  else add(task.endedAt, 'succeeded', `${happened(last)}delivered`)
  return decisions
}

/** No attempt was to follow. */
function isLast({ kind, nextAt }: Entry): boolean {
  return kind === 'retry' && Number.isNaN(nextAt)
}

function givenUp(entry: Entry | undefined, why = ''): string {
  return `${happened(entry)}given up: ${why}`
}

function happened(entry: Entry | undefined): string {
  if (!entry) return ''
  const result = entry.status ? String(entry.status) : (entry.error ?? 'not sent')
  return `${result}${serverWait(entry.serverDelayMs)}; `
}

function wordsOf(entry: Entry): string {
  const { kind, curveMs, startedAt, durationMs, nextAt, serverDelayMs } = entry
  if (kind === 'parked') return `${happened(entry)}its credentials were refused twice: parked until resume()`
  if (kind === 'redriven') return 'put back from the dead letters, attempts counted anew'
  const waitMs = nextAt - startedAt - durationMs
  const next = Number.isNaN(nextAt) ? entry.next : `next in ${waitMs / 1000} s, at ${timeOf(nextAt)}`
  if (kind === 'released') return `${happened(entry)}given back, not counted; ${next}`
  const curve = serverDelayMs >= 0 && curveMs >= 0 ? ` (the curve alone: ${curveMs / 1000} s)` : ''
  return `${happened(entry)}${next}${curve}`
}

function waitsFor({ gate, until, ahead }: Standing): string {
  const at = Number.isFinite(until) ? ` until ${timeOf(until)}` : ''
  switch (gate) {
    case 'in-flight':
    case 'started':
      return 'nothing: an attempt is under way'
    case 'parked':
      return 'resume(): its credentials were refused'
    case 'behind':
      return `its turn: ${ahead} of its orderKey come${ahead === 1 ? 's' : ''} first`
    case 'due':
      return `its own wait${at}`
    case 'lane-held':
      return `its origin, which asked everybody to wait${at}`
    case 'lane-paused':
      return 'resume() of its origin'
    case 'paused':
      return 'resume()'
    case 'offline':
      return 'the network'
    case 'probing':
      return 'the one attempt that tries out its origin after being offline'
    case 'lane-limit':
      return 'concurrencyPerOrigin: as many attempts run at its origin as may'
    case 'limit':
      return 'concurrency: as many attempts run as may'
    case 'ready':
      return 'nothing: it starts next'
  }
}
