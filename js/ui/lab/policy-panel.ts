/** The policy, by its preset, by its knobs, or as JSON: three ways to say the same, each of which follows the others. */

import { html, nothing, type TemplateResult } from 'lit'
import { type BackoffStrategy, type JitterType, presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import { DEFAULT_ATTEMPTS, exactDuration, JITTERS, policyDefaults } from 'redrive/internal'
import { presetOf } from './code.ts'
import { attempt, type Controls, type Options, select, takeOwn, typed } from './controls.ts'
import { knob, plainDuration } from './knob.ts'
import { type Knob, knobsFor, knobsOf, STRATEGY_KNOBS, withStrategy } from './policy-knobs.ts'

const NAMES: Options = Object.keys(presets).map((name) => [name, name])
const STRATEGIES: Options = STRATEGY_KNOBS.map(({ strategy }) => [strategy, strategy.replaceAll('_', ' ')])
const JITTER_NAMES: Options = JITTERS.map((each) => [each, each.toLowerCase().replaceAll('_', ' ')])
const OWN: Options[number] = ['', 'own']
/** The longest text area. */
const JSON_LINES = 18

const presetNamed = (name: string): RetryPolicy | undefined =>
  Object.entries(presets).find(([each]) => each === name)?.[1]

export function policyPanel(controls: Controls): TemplateResult {
  const { policy, versus, retryAfter } = controls.state
  const { strategy, says, hasJitter } = knobsOf(policy.strategy)
  const chosen = presetOf(policy)
  const own = (next: Partial<RetryPolicy>): void => takeOwn(controls, next)
  const choose = (name: string): void => {
    const preset = presetNamed(name)
    if (!preset) return
    controls.forgetTexts()
    controls.set({ policy: preset })
  }
  const compare: Options = [
    ['', 'nothing'],
    ...(versus && !presetOf(versus) ? [['own', 'own'] as const] : []),
    ...NAMES,
  ]
  return html`
    ${select('preset', 'Preset', chosen ? NAMES : [OWN, ...NAMES], chosen ?? '', choose)}
    ${select('strategy', 'Strategy', STRATEGIES, strategy, (value) => own(withStrategy(policy, value as BackoffStrategy)))}
    <p class="note soft">${says}</p>
    ${hasJitter ? select('jitter', 'Jitter', JITTER_NAMES, policy.jitterType ?? policyDefaults.jitterType, (value) => own({ ...policy, jitterType: value as JitterType })) : nothing}
    ${strategy === 'table' ? delaysField(controls) : nothing} ${knobsFor(policy).map((each) => policyKnob(controls, each))}
    <div class="knob wide">
      <label for="retry-after">Retry-After of a server</label>
      <input
        id="retry-after"
        type="text"
        autocomplete="off"
        spellcheck="false"
        placeholder="none, such as 120 or a date"
        .value=${retryAfter}
        @input=${(event: Event) => controls.set({ retryAfter: (event.target as HTMLInputElement).value.slice(0, 100) })}
      />
    </div>
    ${select('versus', 'Compare with', compare, versus ? (presetOf(versus) ?? 'own') : '', (name) => controls.set({ versus: presetNamed(name) ?? null }))}
    ${jsonField(controls)}
  `
}

function policyKnob(controls: Controls, handle: Knob): TemplateResult {
  const { policy } = controls.state
  const { field, kind } = handle
  const set = (value: number | undefined): void => takeOwn(controls, withField(policy, field, value))
  const state = { value: policy[field], otherwise: defaultOf(policy, field), known: controls.textOf(field) }
  return knob(field, handle, state, { slide: set, type: (text) => typed(controls, field, kind, text, set) })
}

/** Where the slider of a field stands that is not given. */
function defaultOf({ keyTtlMs, strategy }: Partial<RetryPolicy>, field: Knob['field']): number | undefined {
  if (field === 'totalBudgetMs') return keyTtlMs ?? policyDefaults.keyTtlMs
  if (field === 'maxAttempts') return DEFAULT_ATTEMPTS
  return knobsOf(strategy).example[field]
}

/** A budget beyond the life of a key is refused, so the one raises the other. */
function withField(
  policy: Partial<RetryPolicy>,
  field: Knob['field'],
  value: number | undefined,
): Partial<RetryPolicy> {
  const { [field]: _, ...rest } = policy
  if (value === undefined) return rest
  const isLonger = field === 'totalBudgetMs' && value > (policy.keyTtlMs ?? policyDefaults.keyTtlMs)
  return { ...policy, ...(isLonger && { keyTtlMs: value }), [field]: value }
}

function delaysField(controls: Controls): TemplateResult {
  const { policy } = controls.state
  const known = controls.textOf('delaysMs')
  const read = (event: Event): void => {
    const text = (event.target as HTMLInputElement).value
    attempt(controls, 'delaysMs', text, () => {
      const parts = text.split(/[,;]/).filter((part) => part.trim() !== '')
      const next = { ...policy, delaysMs: parts.map((part) => controls.parseDuration(plainDuration(part))) }
      controls.assertSound(next)
      takeOwn(controls, next)
    })
  }
  return html`<div class="knob wide">
    <label for="delays">Waits</label>
    <input
      id="delays"
      type="text"
      autocomplete="off"
      spellcheck="false"
      aria-invalid=${known?.error ? 'true' : 'false'}
      aria-describedby="delays-note"
      .value=${known?.text ?? (policy.delaysMs ?? []).map(exactDuration).join(', ')}
      @change=${read}
    />
    <span id="delays-note" class=${known?.error ? 'note error' : 'note soft'}>${known?.error ?? 'durations, with commas between them'}</span>
  </div>`
}

function jsonField(controls: Controls): TemplateResult {
  const { policy } = controls.state
  const known = controls.textOf('json')
  const read = (event: Event): void => {
    const text = (event.target as HTMLTextAreaElement).value
    attempt(controls, 'json', text, () => {
      const next = policyIn(text)
      // refused here, the picture stays that of the last sound policy
      controls.assertSound(next)
      controls.set({ policy: next })
      // as it is typed, as long as it is typed
      controls.keepText('json', { text, error: '' })
    })
  }
  return html`<div class="knob wide">
    <label for="json">Policy as JSON</label>
    <textarea
      id="json"
      rows=${Math.min(JSON_LINES, Object.keys(policy).length + 3)}
      spellcheck="false"
      autocomplete="off"
      aria-invalid=${known?.error || controls.failure ? 'true' : 'false'}
      aria-describedby="json-note"
      .value=${known?.text ?? JSON.stringify(policy, undefined, 2)}
      @input=${read}
    ></textarea>
    <span id="json-note" class="note error">${known?.error ?? ''}</span>
  </div>`
}

function policyIn(text: string): Partial<RetryPolicy> {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new TypeError('expected a JSON object, such as {"strategy": "spread"}')
}
