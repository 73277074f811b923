/** The frontier: all strategies at once, by how evenly they use the time and by how much their waits deviate. Towards the lower left both are better. */

import { html, nothing, svg, type TemplateResult } from 'lit'
import type { FrontierAnswer, FrontierRow } from '../engine/model.ts'
import {
  BOTTOM,
  HEIGHT,
  LEFT,
  type Mark,
  NARROW,
  placed,
  RIGHT,
  type Scales,
  scalesOf,
  TOP,
  WIDE,
} from './frontier-marks.ts'
import { percent, ratio, type Sight } from './sight.ts'

/** `space`: the pixels that there are across. */
export function frontierView({ rows, own }: FrontierAnswer, policyId: string, space: number): Sight {
  const width = space < WIDE ? NARROW : WIDE
  const all: FrontierRow[] = own ? [...rows, { ...own, name: policyId }] : [...rows]
  const scales = scalesOf(all, width)
  const marks = placed(all, scales, own !== null)
  return {
    title: 'Evenness of load against deviation of the wait',
    summary: summaryOf(rows, own),
    picture: html`<div class="frontier">
      <svg width=${width * 1.15} viewBox="0 0 ${width} ${HEIGHT}" aria-hidden="true">${grid(scales)} ${marks.map(lineOf)} ${marks.map(markOf)}</svg>
      <ol class="keys">
        ${rows.map(({ name }, i) => html`<li class=${name.startsWith('spread') ? 'spread' : ''}><b>${i + 1}</b> ${name}</li>`)}
        ${own ? html`<li class="own"><b>★</b> ${policyId}, the chosen policy</li>` : nothing}
      </ol>
    </div>`,
    columns: [
      'Strategy',
      'CV of the waits',
      'Idle time',
      'Peak over mean',
      'CV of the load',
      'Lag after an hour, mean',
      'worst',
    ],
    rows: all.map((row) => [
      row.name,
      ratio(row.waitCv),
      percent(row.idle),
      ratio(row.peak),
      row.loadCv === null ? '–' : ratio(row.loadCv),
      lag(row.lagMean),
      lag(row.lagWorst),
    ]),
    figures: own
      ? [
          { name: 'Idle time', value: percent(own.idle), help: 'of the chosen policy' },
          { name: 'CV of the waits', value: ratio(own.waitCv), help: 'deviation over mean' },
        ]
      : [],
  }
}

const lag = (share: number): string => (Number.isFinite(share) ? percent(share) : 'never')

function summaryOf(rows: readonly FrontierRow[], own: FrontierRow | null): string {
  const of = (name: string): FrontierRow | undefined => rows.find((row) => row.name === name)
  const [spread, full] = [of('spread'), of('exponential, full jitter')]
  const chosen = own
    ? `The chosen policy leaves ${percent(own.idle)} of the time idle, and its waits deviate by ${ratio(own.waitCv)} of their mean. `
    : 'The chosen policy makes one attempt, so it has no place here. '
  if (!spread || !full) return chosen
  return `${chosen}Full jitter leaves ${percent(full.idle)} idle and deviates by ${ratio(full.waitCv)}. Spread leaves ${percent(spread.idle)} idle at a deviation of ${ratio(spread.waitCv)}: a task draws its place once and keeps it, so each window begins where the last one ended, and no task waits much longer than another.`
}

/** From a point to its number; under all numbers, so that none is struck through. */
const lineOf = ({ x, y, textX, textY }: Mark): TemplateResult =>
  svg`<g><path d="M${x} ${y}L${textX} ${textY}"></path></g>`

const markOf = ({ x, y, textX, textY, text, kind, row }: Mark): TemplateResult => svg`<g class=${kind}>
  <title>${row.name}</title>
  <circle cx=${x} cy=${y} r=${kind === 'other' ? 4 : 5.5}></circle>
  <circle class="tag" cx=${textX} cy=${textY} r="8.5"></circle>
  <text x=${textX} y=${textY + 3.8} text-anchor="middle">${text}</text>
</g>`

function grid({ width, most, x, y }: Scales): TemplateResult {
  const across = Array.from({ length: Math.floor(most / 0.2) + 1 }, (_, i) => i * 0.2)
  const up = [0, 0.25, 0.5, 0.75, 1]
  return svg`<g class="grid">
    ${across.map((cv) => svg`<path d="M${x(cv)} ${TOP}V${HEIGHT - BOTTOM}"></path><text x=${x(cv)} y=${HEIGHT - BOTTOM + 16} text-anchor="middle">${cv.toFixed(1)}</text>`)}
    ${up.map((idle) => svg`<path d="M${LEFT} ${y(idle)}H${width - RIGHT}"></path><text x=${LEFT - 6} y=${y(idle) + 4} text-anchor="end">${Math.round(idle * 100)} %</text>`)}
    <text x=${width - 4} y=${HEIGHT - 8} text-anchor="end">deviation of a wait over its mean: less is fairer</text>
    <text x="4" y="12">share of the time that is idle: less is more even</text>
  </g>`
}
