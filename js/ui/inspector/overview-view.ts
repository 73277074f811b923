/** The numbers of everything, and a row for each origin. */

import { html, nothing } from 'lit'
import { grouped, harmless } from 'redrive/internal'
import { doButton, outcomeOf, refusalOf } from './act-view.ts'
import { chartsView } from './charts-view.ts'
import { eventOf, seconds } from './held.ts'
import type { InspectorOrigin, InspectorOverview } from './source.ts'
import type { View } from './view.ts'
import { CIRCUITS, type Drawn, mark } from './words.ts'

/** Rows that are drawn; those with something to tell come first. */
const DRAWN = 100

const number = (name: string, value: Drawn, more: Drawn = nothing): Drawn =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}${more === nothing ? nothing : html`<small>${more}</small>`}</dd>
  </div>`

export function numbersView({ overview, history, now }: View): Drawn {
  if (!overview) {
    const names = ['Waiting', 'In flight', 'Succeeded', 'Success rate', 'Dead letters', 'Capacity']
    return html`<dl class="numbers" aria-busy="true">
      ${names.map((name) => number(name, html`<span class="bone">&nbsp;</span>`))}
    </dl>`
  }
  const { depth, inFlight, deadLetters, capacity, nextAttemptAt, succeeded, exhausted } = overview
  const rate = history.perMinute(now)
  const ended = (succeeded ?? 0) + (exhausted ?? 0)
  const next = nextAttemptAt && nextAttemptAt > now ? `next in ${seconds(nextAttemptAt - now)}` : ''
  const taken = capacity > 0 ? (100 * (depth + deadLetters)) / capacity : 0
  return html`<dl class="numbers">
    ${number('Waiting', grouped(depth - inFlight), next)} ${number('In flight', grouped(inFlight))}
    ${number(
      'Succeeded',
      succeeded === undefined ? '–' : grouped(succeeded),
      succeeded === undefined
        ? 'not shown to this token'
        : rate === undefined
          ? ''
          : `${grouped(Math.round(rate))}/min`,
    )}
    ${number(
      'Success rate',
      ended > 0 ? `${percent((succeeded ?? 0) / ended)} %` : '–',
      ended > 0 ? `of ${grouped(ended)}` : '',
    )}
    ${number('Dead letters', html`<span class=${deadLetters > 0 ? 'bad' : ''}>${grouped(deadLetters)}</span>`)}
    ${number('Capacity', `${taken < 10 && taken > 0 ? taken.toFixed(1) : Math.round(taken)} %`, `of ${grouped(capacity)}`)}
  </dl>`
}

/** 99.98 is not 100. */
const percent = (share: number): string => {
  const hundredths = Math.floor(share * 10_000)
  return hundredths % 100 === 0 ? `${hundredths / 100}` : (hundredths / 100).toFixed(hundredths >= 9_900 ? 2 : 1)
}

export function overviewView(view: View): Drawn {
  const { overview } = view
  if (!overview)
    return html`<div class="bones" aria-hidden="true">${[1, 2, 3].map(() => html`<p class="bone">&nbsp;</p>`)}</div>`
  const { origins, moreOrigins, paused } = overview
  const sorted = [...origins].sort((a, b) => weight(b) - weight(a) || (a.origin < b.origin ? -1 : 1))
  const more = origins.length > DRAWN || moreOrigins
  const isAll = paused === true
  return html`
    <div class="bar">
      ${isAll ? mark(['paused', 'warn']) : nothing}
      ${doButton(view, 'flush', { type: 'flush' }, { label: 'Make all due', class: '' })}
      ${isAll ? nothing : doButton(view, 'pause', { type: 'pause' }, { label: 'Pause all' })}
      ${doButton(view, 'resume', { type: 'resume' }, { label: 'Resume all' })}
      ${['flush', 'pause', 'resume'].map((key) => outcomeOf(view, key))}
    </div>
    ${refusalOf(view, 'flush', 'pause', 'resume')} ${chartsView(view)}
    ${
      sorted.length === 0
        ? html`<p class="empty soft">No origins yet. Each origin that tasks go to shows here, with its circuit, what holds it, and its retry budget.</p>`
        : html`<div class="origins" role="table" aria-label="Origins">
            <div role="row" class="head">
              ${['Origin', 'State', 'Waiting', 'In flight', 'Retry budget', 'Next event', ''].map(
                (name) => html`<span role="columnheader">${name || html`<span class="hidden">Actions</span>`}</span>`,
              )}
            </div>
            ${sorted.slice(0, DRAWN).map((origin) => originView(view, origin))}
          </div>`
    }
    ${more ? html`<p class="soft">There are more tasks or origins than are shown.</p>` : nothing}
  `
}

const weight = ({ pending, inFlight, circuit, heldUntilAt }: InspectorOrigin): number =>
  (circuit === 'CLOSED' ? 0 : 1e9) + (heldUntilAt ? 1e8 : 0) + pending + inFlight

const cell = (name: string, value: Drawn): Drawn =>
  html`<span role="cell"><span class="label soft">${name} </span>${value}</span>`

function originView(view: View, lane: InspectorOrigin): Drawn {
  const { origin, tenant, pending, inFlight, circuit, retryBudget } = lane
  const key = `origin ${origin}`
  return html`<div role="row">
    <span role="cell" class="name">
      ${harmless(origin)}${tenant === undefined ? nothing : html` <span class="soft">${tenant === null ? 'no tenant' : harmless(tenant)}</span>`}
    </span>
    <span role="cell" class="states">
      <span class="soft">circuit</span> ${mark(CIRCUITS[circuit])}
      ${lane.paused ? mark(['paused', 'warn']) : nothing}
    </span>
    ${cell('waiting', grouped(pending))} ${cell('in flight', grouped(inFlight))}
    ${cell('retry budget', retryBudget === null ? '–' : `${Math.floor(retryBudget * 10) / 10}`)}
    <span role="cell" class="event">${harmless(eventOf(lane, view.now))}</span>
    <span role="cell" class="acts">
      ${doButton(view, key, lane.paused ? { type: 'resume', origin } : { type: 'pause', origin }, {
        label: lane.paused ? 'Resume' : 'Pause',
        of: origin,
        class: 'quiet',
      })}
      <button class="quiet" aria-label="Tasks of ${harmless(origin)}" @click=${() => view.filter({ origin, status: '' })}>Tasks</button>
      ${outcomeOf(view, key)}
    </span>
  </div>`
}

/** The warnings of the source, above everything. */
export const warningsView = (overview: InspectorOverview | undefined): Drawn =>
  html`${overview?.warnings?.map((warning) => html`<p class="notice warn" role="status">${harmless(warning)}</p>`)}`
