/** One control of the lab: text and a slider that say the same number. */

import { html, nothing, type TemplateResult } from 'lit'
import { exactDuration } from 'redrive/internal'
import type { Knob } from './policy-knobs.ts'

/** Steps of a slider that counts by factors. */
const STEPS = 1_000

export interface KnobState {
  readonly value: number | undefined
  /** Where the slider stands without a value; undefined: at its end. */
  readonly otherwise: number | undefined
  /** Text that was typed and cannot be read, with the reason. */
  readonly known: { readonly text: string; readonly error: string } | undefined
}

export interface KnobEvents {
  /** A number from the slider. */
  slide(value: number): void
  /** Text that was typed. */
  type(text: string): void
}

type Handle = Pick<Knob, 'label' | 'help' | 'kind' | 'from' | 'to' | 'step'>

export function knob(
  id: string,
  handle: Handle,
  { value, otherwise, known }: KnobState,
  events: KnobEvents,
): TemplateResult {
  const { label, help, kind } = handle
  const { text, error } = known ?? {}
  const shown = text ?? (value === undefined ? '' : kind === 'ms' ? exactDuration(value) : String(value))
  const slide = (event: Event): void => events.slide(valueAt(handle, (event.target as HTMLInputElement).valueAsNumber))
  const type = (event: Event): void => events.type((event.target as HTMLInputElement).value)
  return html`<div class="knob">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type="text"
      inputmode=${kind === 'ms' ? 'text' : 'decimal'}
      placeholder="default"
      autocomplete="off"
      spellcheck="false"
      aria-invalid=${error ? 'true' : 'false'}
      aria-describedby=${`${id}-note`}
      .value=${shown}
      @change=${type}
    />
    ${kind === 'text' ? nothing : slider(handle, value ?? otherwise, label, shown, slide)}
    <span id=${`${id}-note`} class=${error ? 'note error' : 'hidden'}>${error ?? help}</span>
    ${error ? nothing : html`<span class="note soft" aria-hidden="true">${help}</span>`}
  </div>`
}

function slider(
  handle: Handle,
  value: number | undefined,
  label: string,
  shown: string,
  slide: (event: Event) => void,
): TemplateResult {
  const { from, to, step = 1 } = handle
  return html`<input
    type="range"
    min=${isLog(handle) ? 0 : from}
    max=${isLog(handle) ? STEPS : to}
    step=${isLog(handle) ? 1 : step}
    aria-label=${`${label}, slider`}
    aria-valuetext=${shown === '' ? 'default' : shown}
    .value=${String(placeOf(handle, value))}
    @input=${slide}
  />`
}

/** Durations and large counts span factors, not sums. */
const isLog = ({ kind, from, to }: Handle): boolean => kind === 'ms' || (kind === 'count' && to / from > 500)

function placeOf(handle: Handle, value: number | undefined): number {
  const { from, to } = handle
  const known = Math.min(to, Math.max(from, value ?? to))
  return isLog(handle) ? (Math.log(known / from) / Math.log(to / from)) * STEPS : known
}

function valueAt(handle: Handle, place: number): number {
  const { from, to, kind } = handle
  if (!isLog(handle)) return Math.round(place * 1_000) / 1_000
  const exact = from * (to / from) ** (place / STEPS)
  return Math.min(to, Math.max(from, rounded(exact, kind === 'ms')))
}

/** To two digits, and a duration to whole units of its size, so that a slider stops at values that people would write. */
function rounded(value: number, isDuration: boolean): number {
  const units = isDuration ? [86_400_000, 3_600_000, 60_000, 1_000] : []
  const unit = units.find((each) => value >= each) ?? 1
  const count = value / unit
  const digit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1)
  const step = unit > 1 && count < 10 ? 0.5 : digit
  return Math.round(Math.round(count / step) * step * unit)
}

/** Text with a unit as people write it: `12.5 s`, `3 min`. The core reads `12.5s` and `3m`, and says no to all else. */
export const plainDuration = (text: string): string =>
  text.replace(/\s+/g, '').replace(/min$/i, 'm').replace(/sec$/i, 's')
