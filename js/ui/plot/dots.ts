/**
 * A dot for each retry of a crowd: to the right the time, from top to bottom the tasks, the colour by retry; below it how many come in each part of the time.
 * Few dots are drawn as circles; of many the engine has made a raster already, which only needs colours.
 */

import { type CSSResultGroup, css, html, type TemplateResult } from 'lit'
import { duration, linearAxis } from 'redrive/internal'
import { coloursOf } from '../base/colours.ts'
import { define, RedriveElement } from '../base/element.ts'
import { HUES } from '../base/theme.ts'

export interface DotsModel {
  readonly jobs: number
  readonly retries: number
  /** The right end of the time axis. */
  readonly endMs: number
  /** Task by task, `retries` each; null: there is a raster. */
  readonly times: Float64Array | null
  /** `width` x `height`, each 0 or the number of a retry. */
  readonly raster: Uint8Array | null
  readonly width: number
  readonly height: number
  /** How many come in each part of the time, up to `binsEndMs`. */
  readonly bins: Float64Array
  readonly binsEndMs: number
}

const LEFT = 46
const RIGHT = 10
const TOP = 6
const GAP = 22
const STRIP = 54
const AXIS = 26
/** The height of the dots' part, in CSS pixels. */
const DOTS = 260
const HEIGHT = TOP + DOTS + GAP + STRIP + AXIS

export class RedriveDots extends RedriveElement {
  static override styles: CSSResultGroup = [
    RedriveElement.styles,
    css`
      :host {
        background: none;
      }
      canvas {
        display: block;
        width: 100%;
        height: ${HEIGHT}px;
      }
    `,
  ]
  static override properties = { model: { attribute: false } }
  declare model: DotsModel | undefined
  readonly #sizes: ResizeObserver | undefined = globalThis.ResizeObserver && new ResizeObserver(() => this.#resized())

  /** The device pixels that a raster for this element has. */
  get raster(): { readonly width: number; readonly height: number } {
    const scale = globalThis.devicePixelRatio || 1
    const width = Math.max(100, this.clientWidth - LEFT - RIGHT)
    return { width: Math.round(width * scale), height: Math.round(DOTS * scale) }
  }

  override connectedCallback(): void {
    super.connectedCallback()
    this.#sizes?.observe(this)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#sizes?.disconnect()
  }

  #resized(): void {
    const { model } = this
    if (model?.raster && model.width !== this.raster.width) this.dispatchEvent(new Event('resized'))
    this.requestUpdate()
  }

  override render(): TemplateResult {
    return html`<canvas aria-hidden="true"></canvas>`
  }

  protected override updated(): void {
    const { model } = this
    const canvas = this.shadow.querySelector('canvas')
    const width = this.clientWidth
    const context = canvas?.getContext('2d')
    if (!model || !canvas || !context || width === 0) return
    const scale = globalThis.devicePixelRatio || 1
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(HEIGHT * scale)
    context.scale(scale, scale)
    const colours = coloursOf(this.shadow)
    const hues = Array.from({ length: HUES }, (_, i) => colours(`hue-${(i + 1) as 1}`))
    const plot = width - LEFT - RIGHT
    const end = Math.max(1, model.endMs)
    const x = (ms: number): number => LEFT + (ms / end) * plot
    context.font = '11px system-ui, sans-serif'
    context.fillStyle = colours('surface')
    context.strokeStyle = colours('line')
    const stripTop = TOP + DOTS + GAP
    for (const [top, height] of [
      [TOP, DOTS],
      [stripTop, STRIP],
    ] as const) {
      context.fillRect(LEFT, top, plot, height)
      context.strokeRect(LEFT + 0.5, top + 0.5, plot - 1, height - 1)
    }
    const axis = linearAxis(end, Math.max(2, Math.floor(plot / 80)))
    context.textAlign = 'center'
    context.textBaseline = 'top'
    for (const tick of axis.ticks) {
      context.fillStyle = colours('line')
      context.fillRect(Math.round(x(tick)), TOP, 1, DOTS)
      context.fillStyle = colours('soft')
      context.fillText(duration(tick), x(tick), stripTop + STRIP + 7)
    }
    context.textAlign = 'right'
    context.textBaseline = 'middle'
    for (const job of [0, model.jobs]) context.fillText(compact(job), LEFT - 6, TOP + (job === 0 ? 6 : DOTS - 6))
    context.fillText('tasks', LEFT - 6, TOP + DOTS / 2)
    if (model.times) circles(context, model, hues, x)
    else if (model.raster) paste(context, model, hues, scale)
    strip(context, model, colours('accent'), colours('soft'), x, stripTop)
  }
}

function circles(
  context: CanvasRenderingContext2D,
  model: DotsModel,
  hues: readonly string[],
  x: (ms: number) => number,
): void {
  const { times, jobs, retries } = model
  if (!times) return
  const radius = jobs <= 150 ? 1.9 : jobs <= 600 ? 1.4 : 0.9
  // one path a retry: a colour is set once for all of its dots
  for (let retry = 0; retry < retries; retry += 1) {
    context.beginPath()
    for (let job = 0; job < jobs; job += 1) {
      const at = times[job * retries + retry] ?? 0
      const y = TOP + 4 + ((job + 0.5) / jobs) * (DOTS - 8)
      context.moveTo(x(at) + radius, y)
      context.arc(x(at), y, radius, 0, 7)
    }
    context.fillStyle = hues[retry % HUES] ?? ''
    context.fill()
  }
}

function paste(
  context: CanvasRenderingContext2D,
  { raster, width, height }: DotsModel,
  hues: readonly string[],
  scale: number,
): void {
  if (!raster) return
  const image = new ImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  const packed = hues.map((hue) => {
    const [red = 0, green = 0, blue = 0] = (hue.match(/[\d.]+/g) ?? []).map(Number)
    return (255 << 24) | (blue << 16) | (green << 8) | red
  })
  for (let i = 0; i < raster.length; i += 1) {
    const retry = raster[i] ?? 0
    if (retry > 0) pixels[i] = packed[(retry - 1) % HUES] ?? 0
  }
  const canvas = document.createElement('canvas')
  canvas.width = width
  canvas.height = height
  canvas.getContext('2d')?.putImageData(image, 0, 0)
  context.drawImage(canvas, LEFT, TOP, width / scale, height / scale)
}

function strip(
  context: CanvasRenderingContext2D,
  { bins, binsEndMs }: DotsModel,
  bar: string,
  ink: string,
  x: (ms: number) => number,
  top: number,
): void {
  const most = bins.reduce((a, b) => Math.max(a, b), 0)
  if (most === 0) return
  context.fillStyle = bar
  for (const [i, count] of bins.entries()) {
    const from = x((i / bins.length) * binsEndMs)
    const to = x(((i + 1) / bins.length) * binsEndMs)
    const height = (count / most) * (STRIP - 4)
    context.fillRect(from, top + STRIP - height, Math.max(0.6, to - from - 0.4), height)
  }
  context.fillStyle = ink
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  context.fillText(compact(most), LEFT - 6, top + 6)
  context.fillText('load', LEFT - 6, top + STRIP - 6)
}

/** 1K, 2.1M: there is little room beside an axis. */
const compact = (count: number): string =>
  count.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })

define('redrive-dots', RedriveDots)
