/** Draws the course of a task. Pieces go on in the next row where one is full, so it reads the same on a phone. */

import { html, nothing, svg } from 'lit'
import { harmless } from 'redrive/internal'
import type { InspectorTaskView } from './source.ts'
import { laidOut, type Piece, spoken, timelineOf } from './timeline.ts'
import type { Drawn } from './words.ts'

const ROW = 58
const TOP = 17
const BAR = 18

export function timelineView(found: InspectorTaskView, now: number, width: number): Drawn {
  const pieces = timelineOf(found, now)
  const { rows, placed } = laidOut(pieces, width)
  return html`<svg
    class="timeline"
    width=${width}
    height=${rows * ROW}
    role="img"
    aria-label="Its course: ${harmless(spoken(pieces))}"
  >
    <defs>
      <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0V6" class="hatch" />
      </pattern>
    </defs>
    ${placed.map(([piece, x, row]) => svg`<g transform="translate(${x} ${row * ROW})">${drawn(piece)}</g>`)}
  </svg>`
}

function drawn({ kind, tone, above, below, text, isAhead, width }: Piece): Drawn {
  const middle = width / 2
  const shape =
    kind === 'attempt'
      ? svg`<rect class="piece ${tone}" x="1" y=${TOP} width=${width - 2} height=${BAR} rx="3" />`
      : kind === 'held'
        ? svg`<rect class="held" x="0" y=${TOP + 3} width=${width} height=${BAR - 6} fill="url(#hatch)" />`
        : kind === 'wait'
          ? svg`<path class="wait ${isAhead ? 'ahead' : ''}" d="M0 ${TOP + BAR / 2}H${width}" />`
          : svg`<path class="tick ${kind} ${tone}" d="M${middle} ${TOP - 2}V${TOP + BAR + 2}" />`
  const label = (words: string, y: number, name: string): Drawn =>
    words ? (svg`<text class=${name} x=${middle} y=${y} text-anchor="middle">${words}</text>` as Drawn) : nothing
  return svg`<title>${harmless(text)}</title>${shape}${label(above, TOP - 5, tone)}${label(below, TOP + BAR + 13, 'soft')}` as Drawn
}
