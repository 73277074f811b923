/** The numbers of everything, and a row for each origin. */

import { html, nothing, svg } from 'lit'
import { grouped, harmless } from 'redrive/internal'
import { doButton, outcomeOf, refusalOf } from './act-view.ts'
import type { InspectorOrigin, InspectorOverview } from './source.ts'
import type { Throughput } from './throughput.ts'
import type { View } from './view.ts'
import { CIRCUITS, type Drawn, mark, seconds } from './words.ts'

/** Rows that are drawn; those with something to tell come first. */
const DRAWN = 100

const number = (name: string, value: Drawn, more: Drawn = nothing): Drawn =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value}${more === nothing ? nothing : html`<small>${more}</small>`}</dd>
  </div>`

export function numbersView({ overview, throughput, now }: View): Drawn {
  if (!overview) {
    const names = ['Waiting', 'In flight', 'Succeeded', 'Success rate', 'Dead letters', 'Capacity']
    return html`<dl class="numbers" aria-busy="true">
      ${names.map((name) => number(name, html`<span class="bone">&nbsp;</span>`))}
    </dl>`
  }
  const { depth, inFlight, deadLetters, capacity, nextAttemptAt, succeeded, exhausted } = overview
  const rate = throughput.perMinute(now)
  const ended = (succeeded ?? 0) + (exhausted ?? 0)
  const next = nextAttemptAt && nextAttemptAt > now ? `next in ${seconds(nextAttemptAt - now)}` : ''
  const taken = capacity > 0 ? (100 * (depth + deadLetters)) / capacity : 0
  return html`<dl class="numbers">
    ${number('Waiting', grouped(depth - inFlight), next)} ${number('In flight', grouped(inFlight))}
    ${number(
      'Succeeded',
      succeeded === undefined ? '–' : rate === undefined ? '…' : `${grouped(Math.round(rate))}/min`,
      succeeded === undefined ? 'not shown to this token' : bars(throughput),
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

/** Slots of a sparkline, each of ten seconds. */
const SLOTS = 30

function bars({ bars }: Throughput): Drawn {
  const most = Math.max(1, ...bars)
  const rects = bars.map((count, i) => {
    const height = count === 0 ? 1 : Math.max(2, (16 * count) / most)
    return svg`<rect x=${(SLOTS - bars.length + i) * 3} y=${16 - height} width="2" height=${height} />`
  })
  const words = `Succeeded in each 10 s, the latest last: ${bars.slice(-6).join(', ')}`
  return html`<svg class="spark" viewBox="0 0 90 16" role="img" aria-label=${words}>${rects}</svg>`
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
    ${refusalOf(view, 'flush', 'pause', 'resume')}
    ${
      sorted.length === 0
        ? html`<p class="empty soft">No origins yet. Each origin that tasks go to shows here, with its circuit, what holds it, and its retry budget.</p>`
        : html`<div class="origins" role="table" aria-label="Origins">
            <div role="row" class="head">
              ${['Origin', 'State', 'Waiting', 'In flight', 'Retry budget', 'Next', ''].map(
                (name) => html`<span role="columnheader">${name || html`<span class="hidden">Actions</span>`}</span>`,
              )}
            </div>
            ${sorted.slice(0, DRAWN).map((origin) => originView(view, origin))}
          </div>`
    }
    ${more ? html`<p class="soft">There are more origins than are shown.</p>` : nothing}
  `
}

const weight = ({ pending, inFlight, circuit, heldUntilAt }: InspectorOrigin): number =>
  (circuit === 'CLOSED' ? 0 : 1e9) + (heldUntilAt ? 1e8 : 0) + pending + inFlight

const cell = (name: string, value: Drawn): Drawn =>
  html`<span role="cell"><span class="label soft">${name} </span>${value}</span>`

function originView(view: View, lane: InspectorOrigin): Drawn {
  const { origin, tenant, pending, inFlight, circuit, heldUntilAt, shutUntilAt, retryBudget, nextAttemptAt } = lane
  const { now } = view
  const key = `origin ${origin}`
  const left = (at: number | null | undefined): string | undefined => (at && at > now ? seconds(at - now) : undefined)
  const opens = left(shutUntilAt)
  const held = left(heldUntilAt)
  const next = left(nextAttemptAt)
  return html`<div role="row">
    <span role="cell" class="name">
      ${harmless(origin)}${tenant === undefined ? nothing : html` <span class="soft">${tenant === null ? 'no tenant' : harmless(tenant)}</span>`}
    </span>
    <span role="cell" class="states">
      <span class="soft">circuit</span> ${mark(CIRCUITS[circuit])}
      ${opens ? html`<span class="warn">${circuit === 'CLOSED' ? 'ramp' : 'for'} ${opens}</span>` : nothing}
      ${held ? html`<span class="warn">held ${held}</span>` : nothing}
      ${lane.paused ? mark(['paused', 'warn']) : nothing}
    </span>
    ${cell('waiting', grouped(pending))} ${cell('in flight', grouped(inFlight))}
    ${cell('retry budget', retryBudget === null ? '–' : `${Math.floor(retryBudget * 10) / 10}`)}
    ${cell('next', next ? `in ${next}` : '–')}
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
