/** The frontier: all strategies at once, by how evenly they use the time and by how much their waits deviate. Towards the lower left both are better. */

import { html, nothing, svg, type TemplateResult } from 'lit'
import type { FrontierAnswer, FrontierRow } from '../engine/model.ts'
import { percent, ratio, type Sight } from './sight.ts'

const WIDTH = 640
const HEIGHT = 400
const LEFT = 52
const BOTTOM = 44
const TOP = 14
const RIGHT = 14
/** The space that a mark keeps to itself. */
const APART = 17

interface Mark {
  readonly row: FrontierRow
  readonly text: string
  readonly x: number
  readonly y: number
  /** Where its number stands: beside the point, pushed away from the others. */
  readonly textX: number
  readonly textY: number
  readonly kind: 'own' | 'spread' | 'other'
}

export function frontierView({ rows, own }: FrontierAnswer, policyId: string): Sight {
  const all: FrontierRow[] = own ? [...rows, { ...own, name: policyId }] : [...rows]
  const most = Math.max(1, ...all.map(({ waitCv }) => waitCv).filter(Number.isFinite)) * 1.04
  const x = (cv: number): number => LEFT + (Math.min(cv, most) / most) * (WIDTH - LEFT - RIGHT)
  const y = (idle: number): number => HEIGHT - BOTTOM - idle * (HEIGHT - BOTTOM - TOP)
  const marks = placed(all, x, y, own !== null)
  return {
    title: 'Evenness of load against deviation of the wait',
    summary: summaryOf(rows, own),
    picture: html`<div class="frontier">
      <div class="map" role="region" aria-label="The frontier, as a picture" tabindex="0"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">
        ${grid(x, y, most)} ${marks.map(markOf)}
      </svg></div>
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

const kindOf = ({ name }: FrontierRow): Mark['kind'] => (name.startsWith('spread') ? 'spread' : 'other')

/** Numbers beside their points, moved down and up until none covers another: a greedy pass is enough for sixteen of them. */
function placed(
  all: readonly FrontierRow[],
  x: (cv: number) => number,
  y: (idle: number) => number,
  hasOwn: boolean,
): Mark[] {
  const taken: { x: number; y: number }[] = []
  const order = all.map((row, i) => ({ row, i })).sort((a, b) => a.row.waitCv - b.row.waitCv || a.row.idle - b.row.idle)
  const marks = order.map(({ row, i }): Mark & { readonly i: number } => {
    const isOwn = hasOwn && i === all.length - 1
    const point = { x: x(row.waitCv), y: y(row.idle) }
    const tries = Array.from({ length: 40 }, (_, n) => {
      const angle = (n % 8) * (Math.PI / 4)
      const far = 14 + Math.floor(n / 8) * 12
      return { x: point.x + Math.cos(angle) * far, y: point.y + Math.sin(angle) * far }
    })
    const isFree = (at: { readonly x: number; readonly y: number }): boolean =>
      at.x > LEFT + 8 &&
      at.x < WIDTH - RIGHT &&
      at.y > TOP &&
      at.y < HEIGHT - BOTTOM - 6 &&
      taken.every((other) => Math.hypot(other.x - at.x, other.y - at.y) > APART)
    const at = tries.find(isFree) ?? { x: point.x + 14, y: point.y }
    taken.push(at, point)
    return {
      row,
      i,
      text: isOwn ? '★' : String(i + 1),
      ...point,
      textX: at.x,
      textY: at.y,
      kind: isOwn ? 'own' : kindOf(row),
    }
  })
  return marks.sort((a, b) => a.i - b.i)
}

const markOf = ({ x, y, textX, textY, text, kind, row }: Mark): TemplateResult => svg`<g class=${kind}>
  <title>${row.name}</title>
  <path d="M${x} ${y}L${textX} ${textY}"></path>
  <circle cx=${x} cy=${y} r=${kind === 'other' ? 4 : 5.5}></circle>
  <circle class="tag" cx=${textX} cy=${textY} r="8.5"></circle>
  <text x=${textX} y=${textY + 3.8} text-anchor="middle">${text}</text>
</g>`

function grid(x: (cv: number) => number, y: (idle: number) => number, most: number): TemplateResult {
  const across = Array.from({ length: Math.floor(most / 0.2) + 1 }, (_, i) => i * 0.2)
  const up = [0, 0.25, 0.5, 0.75, 1]
  return svg`<g class="grid">
    ${across.map((cv) => svg`<path d="M${x(cv)} ${TOP}V${HEIGHT - BOTTOM}"></path><text x=${x(cv)} y=${HEIGHT - BOTTOM + 16} text-anchor="middle">${cv.toFixed(1)}</text>`)}
    ${up.map((idle) => svg`<path d="M${LEFT} ${y(idle)}H${WIDTH - RIGHT}"></path><text x=${LEFT - 6} y=${y(idle) + 4} text-anchor="end">${Math.round(idle * 100)} %</text>`)}
    <text x=${(LEFT + WIDTH - RIGHT) / 2} y=${HEIGHT - 8} text-anchor="middle">deviation of a wait over its mean: less is fairer</text>
    <text x=${WIDTH - RIGHT - 8} y=${TOP + 16} text-anchor="end">share of the time that is idle: less is more even</text>
  </g>`
}
