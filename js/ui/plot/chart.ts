/**
 * A line chart, drawn by uPlot, in the colours of the page. It is an element of its own, so that a view says what it shows and no view handles sizes,
 * schemes or the life of a canvas.
 */

import { type CSSResultGroup, css, html, type PropertyValues, type TemplateResult, unsafeCSS } from 'lit'
import uPlot from 'uplot'
import plotStyle from 'uplot/dist/uPlot.min.css'
import { type ColourName, type Colours, coloursOf } from '../base/colours.ts'
import { define, RedriveElement } from '../base/element.ts'

/** One line of a chart. */
export interface Line {
  readonly label: string
  readonly colour: ColourName
  readonly values: readonly (number | null)[]
  readonly dash?: readonly number[]
  readonly width?: number
  /** Marks each value. */
  readonly points?: boolean
  /** Fills the space between this line and the one before it. */
  readonly band?: true
  /** Fills the space down to the axis. */
  readonly area?: true
  /** Stands as a bar for each value; of 0 there is none. */
  readonly bars?: true
}

/** Shades a stretch of the x axis. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly label: string
}

export interface ChartModel {
  readonly x: readonly number[]
  readonly lines: readonly Line[]
  readonly xLabel: string
  readonly yLabel: string
  readonly xText: (value: number) => string
  readonly yText: (value: number) => string
  /** The y axis counts by factors: 0 lies at its foot. */
  readonly log?: { readonly from: number; readonly to: number; readonly ticks: readonly number[] }
  readonly stretches?: readonly Stretch[]
  /** One of several in a row: low, and without a legend. */
  readonly isSmall?: true
  /** A level that is marked across the plot. */
  readonly level?: { readonly at: number; readonly label: string }
}

const HEIGHT = 330
/** The legend below the plot. */
const LEGEND = 34
/** The height of a small one. */
const SMALL = 110
/** Steps of an axis that counts whole things. */
const WHOLE = Array.from({ length: 24 }, (_, i) => ([1, 2, 5][i % 3] as number) * 10 ** Math.floor(i / 3))
const LABELS = { size: 11, font: '11px system-ui, sans-serif' }
/** Width of an axis whose labels may be long, in pixels. */
const roomFor = (labels: readonly string[] | null, least: number): number =>
  Math.max(least, 10 + 7 * Math.max(0, ...(labels ?? []).map((label) => label.length)))

class RedriveChart extends RedriveElement {
  static override styles: CSSResultGroup = [
    RedriveElement.styles,
    unsafeCSS(plotStyle),
    css`
      :host {
        background: none;
        overflow: hidden;
      }
      #plot {
        min-height: ${HEIGHT}px;
      }
      #plot.small {
        min-height: ${SMALL}px;
      }
      .u-legend {
        text-align: start;
        font-size: 12.5px;
      }
      .u-legend th {
        color: var(--_soft);
      }
      .u-legend th > * {
        font-weight: 400;
      }
      .u-legend td {
        min-width: 5ch;
      }
      .u-legend th,
      .u-legend td {
        border: 0;
        padding: 0 4px 0 0;
      }
      .u-inline tr {
        margin-inline-end: 12px;
      }
    `,
  ]
  static override properties = { model: { attribute: false } }
  declare model: ChartModel | undefined
  #plot: uPlot | undefined
  #shape = ''
  readonly #sizes: ResizeObserver | undefined = globalThis.ResizeObserver && new ResizeObserver(() => this.#fit())

  override connectedCallback(): void {
    super.connectedCallback()
    this.#sizes?.observe(this)
    this.requestUpdate()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#sizes?.disconnect()
    this.#drop()
  }

  protected override schemeChanged(): void {
    this.#drop()
    super.schemeChanged()
  }

  override render(): TemplateResult {
    // the table beside it says the same in words
    return html`<div id="plot" class=${this.model?.isSmall ? 'small' : ''} aria-hidden="true"></div>`
  }

  protected override updated(_: PropertyValues): void {
    const { model } = this
    if (!model || !this.isConnected) return
    const shape = JSON.stringify([
      model.lines.map(({ values: _, ...rest }) => rest),
      model.xLabel,
      model.yLabel,
      model.log,
    ])
    if (shape !== this.#shape) this.#drop()
    this.#shape = shape
    const data = [model.x, ...model.lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
    if (this.#plot) this.#plot.setData(data)
    else this.#plot = this.#draw(model, data)
  }

  #drop(): void {
    this.#plot?.destroy()
    this.#plot = undefined
  }

  #fit(): void {
    const width = Math.floor(this.clientWidth)
    if (width > 0 && this.#plot && this.#plot.width !== width) this.#plot.setSize({ width, height: this.#plot.height })
  }

  #draw(model: ChartModel, data: uPlot.AlignedData): uPlot {
    const colours = coloursOf(this.shadow)
    const current = (): ChartModel => this.model ?? model
    const axis = (label: string, side: 2 | 3): uPlot.Axis => ({
      side,
      label,
      labelSize: label ? 18 : 0,
      labelGap: 0,
      labelFont: `12px system-ui, sans-serif`,
      font: LABELS.font,
      stroke: colours('soft'),
      grid: { stroke: colours('line'), width: 1 },
      ticks: { show: false },
    })
    const options: uPlot.Options = {
      width: Math.max(200, Math.floor(this.clientWidth)),
      height: model.isSmall ? SMALL : HEIGHT - LEGEND,
      legend: { show: !model.isSmall },
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { time: false, ...(model.isSmall && { range: withHalves }) },
        y: model.log
          ? { distr: 3, range: () => [current().log?.from ?? 1, current().log?.to ?? 10] }
          : { range: zeroBased },
      },
      axes: [
        {
          ...axis(model.xLabel, 2),
          incrs: WHOLE,
          size: 28,
          values: (_, splits) => splits.map((value) => current().xText(value)),
        },
        {
          ...axis(model.yLabel, 3),
          size: (_, labels) => roomFor(labels, model.isSmall ? 40 : 58),
          ...(model.isSmall && { incrs: WHOLE }),
          values: (_, splits) => splits.map((value) => current().yText(value)),
          ...(model.log && {
            splits: () => [...(current().log?.ticks ?? [])],
            filter: (_: uPlot, splits: number[]) => splits,
          }),
        },
      ],
      series: [
        { label: model.xLabel, value: (_, value) => (value === null ? '–' : current().xText(value)) },
        ...model.lines.map((line) => seriesOf(line, colours, current)),
      ],
      bands: model.lines.flatMap(({ band, colour }, i) =>
        band ? [{ series: [i + 1, i] as [number, number], fill: faded(colours(colour), 0.16) }] : [],
      ),
      hooks: { drawAxes: [(plot) => marks(plot, current(), colours)] },
    }
    return new uPlot(options, data, this.shadow.querySelector('#plot') as HTMLElement)
  }
}

/** Room for the first and the last bar. */
const withHalves: uPlot.Range.Function = ({ data: [x] }, from, to) => {
  const half = (to - from) / (x.length - 1) / 2
  return [from - half, to + half]
}

const zeroBased: uPlot.Range.Function = (_, __, most) => [0, Math.max(1, most) * 1.05]

function seriesOf(
  { label, colour, dash, width = 2, points = false, area, bars }: Line,
  colours: Colours,
  current: () => ChartModel,
): uPlot.Series {
  return {
    label,
    stroke: colours(colour),
    width,
    ...(dash && { dash: [...dash] }),
    ...(bars && {
      width: 0,
      fill: colours(colour),
      paths: uPlot.paths.bars?.({ size: [0.8] }) as uPlot.Series.PathBuilder,
    }),
    ...(area && { fill: faded(colours(colour), 0.14) }),
    points: { show: points, size: 6, fill: colours(colour) },
    value: (_, value) => (value === null || value === undefined ? '–' : current().yText(value)),
  }
}

/** `rgb(1, 2, 3)`, as computed colours are written, with so much of it left. */
const faded = (colour: string, share: number): string => colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${share})`)

/** Stretches of the x axis and a level, over the grid and under the lines. */
function marks(plot: uPlot, { stretches = [], level }: ChartModel, colours: Colours): void {
  const { ctx } = plot
  const { left, top, width, height } = plot.bbox
  const scale = globalThis.devicePixelRatio || 1
  ctx.save()
  ctx.font = `${LABELS.size * scale}px system-ui, sans-serif`
  ctx.textBaseline = 'top'
  ctx.textAlign = 'left'
  for (const { from, to, label } of stretches) {
    const start = Math.max(left, plot.valToPos(from, 'x', true))
    const end = Math.min(left + width, plot.valToPos(to, 'x', true))
    if (end <= start) continue
    ctx.fillStyle = faded(colours('bad'), 0.1)
    ctx.fillRect(start, top, end - start, height)
    ctx.fillStyle = colours('bad')
    ctx.fillText(label, start + 4 * scale, top + 4 * scale)
  }
  if (level) {
    const y = plot.valToPos(level.at, 'y', true)
    if (y > top && y < top + height) {
      ctx.strokeStyle = colours('soft')
      ctx.setLineDash([6 * scale, 4 * scale])
      ctx.beginPath()
      ctx.moveTo(left, y)
      ctx.lineTo(left + width, y)
      ctx.stroke()
      ctx.fillStyle = colours('soft')
      ctx.textAlign = 'right'
      ctx.fillText(level.label, left + width - 4 * scale, y + 3 * scale)
    }
  }
  ctx.restore()
}

define('redrive-chart', RedriveChart)
