/**
 * The outage: a server that is down for a while, a crowd of clients with this policy, and whether it comes back under their retries. The figures of
 * awaited and of enqueued calls stand side by side.
 */

import { html } from 'lit'
import { grouped, plural } from 'redrive/internal'
import type { OutageAnswer } from '../engine/model.ts'
import type { ChartModel } from '../plot/chart.ts'
import { type Figure, percent, ratio, type Sight } from './sight.ts'
import type { OutageState } from './state.ts'

/** Rows of the table: a line every so many seconds, at most so many. */
const ROWS = 60

/** @param other the same outage with the other kind of calls, once it is computed */
export function outageView(given: OutageAnswer, state: OutageState, other?: OutageAnswer): Sight {
  const answer = withoutLast(given)
  const { calls, requests, answered, open } = answer
  const every = Math.max(1, Math.ceil(calls.length / ROWS))
  const lines = Array.from({ length: Math.ceil(calls.length / every) }, (_, i) => i * every)
  const mean = (values: Uint32Array, from: number): number => {
    const part = values.subarray(from, from + every)
    return Math.round(part.reduce((a, b) => a + b, 0) / part.length)
  }
  return {
    title: `${plural(state.clients, 'client')} with ${state.calls} calls, a server that is down for ${state.outageMs / 1_000} s`,
    summary: summaryOf(answer, state),
    picture: html`<redrive-chart .model=${ratesOf(answer, state)}></redrive-chart>
      <redrive-chart .model=${backlogOf(answer)}></redrive-chart>`,
    columns: ['Second', 'Calls a second', 'Requests a second', 'Answered a second', 'Open calls'],
    rows: lines.map((from) => [
      String(from),
      grouped(mean(calls, from)),
      grouped(mean(requests, from)),
      grouped(mean(answered, from)),
      grouped(open[Math.min(from + every, open.length) - 1] ?? 0),
    ]),
    figures: besideOther(figuresOf(answer, state.calls), state.calls, other),
  }
}

/** The last second has only begun, and would look as if all had stopped. */
function withoutLast(answer: OutageAnswer): OutageAnswer {
  const ended = (values: Uint32Array): Uint32Array => values.slice(0, -1)
  return {
    ...answer,
    calls: ended(answer.calls),
    requests: ended(answer.requests),
    answered: ended(answer.answered),
    open: ended(answer.open),
  }
}

/** The words for what becomes of a call that has no answer. */
const MODES: Readonly<Record<OutageState['calls'], string>> = {
  awaited: 'Each caller waits for 30 s, at the door while the circuit is open, and then leaves. ',
  enqueued: 'The queue keeps each call until it ends. ',
}

function summaryOf(answer: OutageAnswer, { calls, gates, capacity }: OutageState): string {
  return MODES[calls] + courseOf(answer, calls, gates, capacity)
}

function courseOf(
  { drainedS, collapsed, amplification, lost, totalCalls, idealS }: OutageAnswer,
  calls: OutageState['calls'],
  gates: OutageState['gates'],
  capacity: number,
): string {
  const lostText =
    lost === 0 ? 'No call is lost.' : `${grouped(lost)} of ${grouped(totalCalls)} calls end without an answer.`
  if (collapsed) {
    return `The server stays down: it is back, but its clients’ retries keep it busy with work that no client waits for any more. ${lostText}${gates === 'none' ? ' Turn the gates on to see it recover.' : ''}`
  }
  if (drainedS === null) return `The backlog is not gone yet at the end of what is shown. ${lostText}`
  return `The backlog is gone ${Math.round(drainedS)} s after the server is back; ${calls === 'awaited' ? 'callers who have left are no part of it' : `no policy could do it in less than ${Math.round(idealS)} s at ${grouped(capacity)} requests a second`}. It took ${ratio(amplification)} requests per call. ${lostText}`
}

/** The other kind of calls, which the same outage is computed with for comparison. */
export const otherCalls = (calls: OutageState['calls']): OutageState['calls'] =>
  calls === 'awaited' ? 'enqueued' : 'awaited'

/** Each figure with that of the other kind of calls. */
function besideOther(figures: Figure[], calls: OutageState['calls'], other: OutageAnswer | undefined): Figure[] {
  if (!other) return figures
  const kind = otherCalls(calls)
  const others = figuresOf(other, kind)
  return figures.map((figure, i) => ({ ...figure, beside: `${kind}: ${others[i]?.value}` }))
}

function figuresOf(
  { drainedS, lastS, amplification, askedInVain, lost, totalCalls, collapsed, idealS }: OutageAnswer,
  calls: OutageState['calls'],
): Figure[] {
  const isAwaited = calls === 'awaited'
  const seconds = (s: number | null): string => (s === null ? '–' : `${Math.round(s)} s`)
  return [
    collapsed
      ? { name: 'Backlog gone', value: 'never', help: 'the server stays down', tone: 'bad' }
      : {
          name: 'Backlog gone',
          value: seconds(drainedS),
          help: `after its return${isAwaited ? '' : `; the ideal is ${seconds(idealS)}`}`,
          ...(!isAwaited && { tone: (drainedS ?? Number.NaN) < idealS * 1.5 ? ('good' as const) : ('warn' as const) }),
        },
    { name: 'Last call ended', value: seconds(lastS), help: 'of those made in the outage' },
    {
      name: 'Amplification',
      value: ratio(amplification),
      help: 'requests over calls until then; 1 is the least',
      ...(amplification > 2 && { tone: 'bad' as const }),
    },
    { name: 'Asked in vain', value: ratio(askedInVain), help: 'requests over calls while it was down' },
    {
      name: 'Lost',
      value: lost === 0 ? '0' : percent(lost / Math.max(1, totalCalls)),
      help: `of ${grouped(totalCalls)} calls`,
      tone: lost === 0 ? 'good' : 'warn',
    },
  ]
}

const SECONDS = { xLabel: 'seconds', xText: String, yText: (value: number): string => grouped(Math.round(value)) }

function ratesOf({ calls, requests, answered, downAtS, backAtS }: OutageAnswer, { capacity }: OutageState): ChartModel {
  return {
    ...SECONDS,
    x: Array.from(calls, (_, i) => i),
    yLabel: 'a second',
    lines: [
      { label: 'requests', colour: 'hue-2', values: Array.from(requests) },
      { label: 'answered', colour: 'hue-3', values: Array.from(answered), area: true },
      { label: 'new calls', colour: 'soft', values: Array.from(calls), width: 1 },
    ],
    stretches: [{ from: downAtS, to: backAtS, label: 'down' }],
    level: { at: capacity, label: 'capacity' },
  }
}

function backlogOf({ open, downAtS, backAtS }: OutageAnswer): ChartModel {
  return {
    ...SECONDS,
    x: Array.from(open, (_, i) => i),
    yLabel: 'open calls',
    lines: [{ label: 'backlog', colour: 'hue-1', values: Array.from(open), area: true }],
    stretches: [{ from: downAtS, to: backAtS, label: 'down' }],
  }
}
