/** The port through which the panels of the lab read and change its state, so that a panel is a function of it. */

import { html, type TemplateResult } from 'lit'
import { presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import { errorText } from 'redrive/internal'
import { presetOf } from './code.ts'
import { plainDuration } from './knob.ts'
import type { Knob } from './policy-knobs.ts'
import type { LabState } from './state.ts'

/** Text of a field that cannot be read, and why. */
export interface FieldText {
  readonly text: string
  readonly error: string
}

export interface Controls {
  readonly state: LabState
  /** Text as the core reads it; throws what says why it cannot. */
  parseDuration(text: string): number
  /** Throws where the core would refuse a policy. */
  assertSound(policy: Partial<RetryPolicy>): void
  /** Text that is kept in a field, since it cannot be read or is still being typed. */
  textOf(field: string): FieldText | undefined
  keepText(field: string, text: FieldText | undefined): void
  forgetTexts(): void
  /** A change by the reader. */
  set(change: Partial<LabState>): void
  /** The reason why the policy as a whole is refused; empty: it is not. */
  readonly failure: string
}

/** Does `work` with the text of a field; text that cannot be read stays there with the reason. */
export function attempt(controls: Controls, field: string, text: string, work: () => void): void {
  controls.keepText(field, undefined)
  try {
    work()
  } catch (error) {
    controls.keepText(field, { text, error: errorText(error).replace(/^text: /, '') })
  }
}

/** Reads a number as its field has it; `apply` gets undefined where the field is empty. */
export function typed(
  controls: Controls,
  field: string,
  kind: Knob['kind'],
  text: string,
  apply: (value: number | undefined) => void,
): void {
  attempt(controls, field, text, () => {
    const plain = text.trim()
    if (plain === '') return apply(undefined)
    if (kind === 'ms') return apply(controls.parseDuration(plainDuration(plain)))
    const value = Number(plain.replaceAll(/[ ,_](?=\d{3})/g, ''))
    if (Number.isNaN(value)) throw new RangeError(`expected a number, got '${plain}'`)
    apply(value)
  })
}

/** Takes a policy that the reader has made. One that is no preset any more has a name of its own. */
export function takeOwn(controls: Controls, policy: Partial<RetryPolicy>): void {
  const isNamed = policy.policyId !== undefined && !(policy.policyId in presets)
  controls.forgetTexts()
  controls.set({ policy: isNamed || presetOf(policy) ? policy : { ...policy, policyId: 'own' } })
}

export type Options = readonly (readonly [value: string, text: string])[]

export function select(
  id: string,
  label: string,
  options: Options,
  value: string,
  set: (value: string) => void,
): TemplateResult {
  return html`<div class="knob wide">
    <label for=${id}>${label}</label>
    <select id=${id} @change=${(event: Event) => set((event.target as HTMLSelectElement).value)}>
      ${options.map(([name, text]) => html`<option value=${name} .selected=${name === value}>${text}</option>`)}
    </select>
  </div>`
}
