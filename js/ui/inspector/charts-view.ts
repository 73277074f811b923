/** Throughput, errors and queue length over the last five minutes. `redrive-chart` comes with the elements. */

import { html } from 'lit'
import { grouped } from 'redrive/internal'
import type { ColourName } from '../base/colours.ts'
import type { ChartModel } from '../plot/chart.ts'
import { SLOT_MS, SLOTS, type Slot } from './history.ts'
import type { View } from './view.ts'
import type { Drawn } from './words.ts'

/** Minutes before now. */
const TIMES: readonly number[] = Array.from({ length: SLOTS }, (_, i) => ((i + 1 - SLOTS) * SLOT_MS) / 60_000)

export function chartsView({ history, overview, source }: View): Drawn {
  const errors = source.listen ? 'attempts that failed, in 10 s' : 'new dead letters, in 10 s'
  const isKnown = overview?.succeeded !== undefined
  const { slots } = history
  return html`<div class="charts">
    ${isKnown ? chart('Throughput', 'succeeded, in 10 s', 'good', slots, ({ succeeded }) => succeeded) : ''}
    ${isKnown ? chart('Errors', errors, 'bad', slots, ({ failed }) => failed) : ''}
    ${chart('Queue length', 'tasks that wait', 'accent', slots, ({ waiting }) => waiting)}
  </div>`
}

function chart(
  title: string,
  unit: string,
  colour: ColourName,
  slots: readonly Slot[],
  of: (slot: Slot) => number,
): Drawn {
  const seen = slots.map(of)
  const model: ChartModel = {
    x: TIMES,
    lines: [{ label: title, colour, values: [...Array(SLOTS - seen.length).fill(null), ...seen], bars: true }],
    xLabel: '',
    yLabel: '',
    xText: (minutes) => (minutes === 0 ? 'now' : `${minutes} min`),
    yText: grouped,
    isSmall: true,
  }
  const words = `${title}, ${unit}, the latest last: ${seen.slice(-6).join(', ')}`
  return html`<div role="img" aria-label=${words}>
    <b>${title}</b> <span class="soft">${unit}</span><redrive-chart .model=${model}></redrive-chart>
  </div>`
}
