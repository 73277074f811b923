/** Events made of what differs between two looks: the log of a source that has none of its own. */

import type { CircuitState } from 'redrive'
import { plural } from 'redrive/internal'
import type { InspectorEvent, InspectorOverview, InspectorTask } from './source.ts'

type EventParts = Omit<InspectorEvent, 'at'>

const TONES = { CLOSED: 'good', HALF_OPEN: 'warn', OPEN: 'bad' } as const

/** 'half-open', as all parts say it. */
export const circuitWord = (state: CircuitState): string => state.toLowerCase().replace('_', '-')

/** Differences of the numbers and of the origins. */
export function changesOf(before: InspectorOverview, after: InspectorOverview, at: number): InspectorEvent[] {
  const events: EventParts[] = []
  const succeeded = (after.succeeded ?? 0) - (before.succeeded ?? 0)
  const dead = after.deadLetters - before.deadLetters
  if (succeeded > 0) events.push({ kind: 'succeeded', text: plural(succeeded, 'task'), tone: 'good' })
  if (dead > 0) events.push({ kind: 'exhausted', text: plural(dead, 'new dead letter'), tone: 'bad' })
  if (dead < 0)
    events.push({ kind: 'dead letters', text: `${-dead} fewer: redriven, deleted, or past their retention` })
  if (!after.paused !== !before.paused) events.push({ kind: after.paused ? 'paused' : 'resumed', text: 'everything' })
  const known = new Map(before.origins.map((each) => [nameOf(each), each]))
  for (const origin of after.origins) {
    const { circuit, heldUntilAt, paused } = origin
    const was = known.get(nameOf(origin))
    const from = was?.circuit ?? 'CLOSED'
    const text = nameOf(origin)
    if (circuit !== from)
      events.push({
        kind: 'circuit',
        text: `${text}: ${circuitWord(from)} to ${circuitWord(circuit)}`,
        tone: TONES[circuit],
      })
    if (heldUntilAt !== null && !was?.heldUntilAt)
      events.push({ kind: 'held', text: `${text} asked for a wait`, tone: 'warn' })
    if (was && !paused !== !was.paused) events.push({ kind: paused ? 'paused' : 'resumed', text })
  }
  return events.map((event) => ({ at, ...event }))
}

const nameOf = ({ origin, tenant }: InspectorOverview['origins'][number]): string =>
  tenant ? `${origin} for ${tenant}` : origin

/** A task that is not as it was. */
export function changeOf(before: InspectorTask | undefined, after: InspectorTask, at: number): InspectorEvent {
  const { method, targetUrl, status, reason, attemptNumber, taskId } = after
  const kind = !before ? 'new' : STATUS_KINDS[status]
  const tone = status === 'SUCCEEDED' ? 'good' : status === 'EXHAUSTED' ? 'bad' : undefined
  const more = reason ?? (attemptNumber > 0 ? `attempt ${attemptNumber}` : '')
  const text = `${method} ${targetUrl}${more && `: ${more}`}`
  return { at, kind, text, taskId, ...(tone && { tone }) }
}

const STATUS_KINDS = {
  PENDING: 'waits',
  IN_FLIGHT: 'attempt',
  SUCCEEDED: 'succeeded',
  EXHAUSTED: 'exhausted',
  CANCELLED: 'cancelled',
} as const
