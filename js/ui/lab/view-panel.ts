/** The controls of a view beside those of the policy: the crowd, the server, the seed. */

import { html, nothing, type TemplateResult } from 'lit'
import { type Controls, type Options, select, typed } from './controls.ts'
import { knob } from './knob.ts'
import type { Knob } from './policy-knobs.ts'
import { BACKLOGS, CALLS, GATES, LIMITS, OUTAGES, type OutageState } from './state.ts'

const GATE_NAMES: Readonly<Record<OutageState['gates'], string>> = {
  shipped: 'on: breaker, ramp, budget',
  'breaker-budget': 'breaker and budget',
  breaker: 'breaker alone',
  budget: 'budget alone',
  none: 'off',
}
const GATE_OPTIONS: Options = GATES.map((each) => [each, GATE_NAMES[each]])
const OUTAGE_OPTIONS: Options = OUTAGES.map((each) => [each, each === 'hanging' ? 'hangs' : 'answers 503'])
const BACKLOG_OPTIONS: Options = BACKLOGS.map((each) => [each, each === 'deep' ? 'longer than clients wait' : 'short'])
const CALL_OPTIONS: Options = CALLS.map((each) => [each, each === 'awaited' ? 'awaited, for 30 s' : each])

export function viewPanel(controls: Controls): TemplateResult | typeof nothing {
  const { view } = controls.state
  if (view === 'curve') return nothing
  return html`<div class="row">
    ${view === 'crowd' ? limited(controls, 'jobs', 'Tasks', 'that fail at the same moment', 'count', controls.state.jobs, (jobs) => controls.set({ jobs })) : nothing}
    ${view === 'outage' ? outageKnobs(controls) : nothing}
    ${limited(controls, 'seed', 'Seed', 'the same seed draws the same picture', 'text', controls.state.seed, (seed) => controls.set({ seed }))}
  </div>`
}

function outageKnobs(controls: Controls): TemplateResult {
  const { outage } = controls.state
  const change = (part: Partial<OutageState>): void => controls.set({ outage: { ...controls.state.outage, ...part } })
  const words = (id: 'calls' | 'gates' | 'outage' | 'backlog', label: string, options: Options): TemplateResult =>
    select(`view-${id}`, label, options, outage[id], (value) => change({ [id]: value }))
  return html`
    ${limited(controls, 'clients', 'Clients', 'with a queue each', 'count', outage.clients, (clients) => change({ clients }))}
    ${limited(controls, 'capacity', 'Capacity', 'requests that the server can do in a second', 'count', outage.capacity, (capacity) => change({ capacity }), 50)}
    ${limited(controls, 'load', 'Load', 'new calls, as a share of the capacity', 'share', outage.load, (load) => change({ load }), 0.01)}
    ${limited(controls, 'outageMs', 'Outage', 'how long the server is down', 'ms', outage.outageMs, (ms) => change({ outageMs: Math.max(1_000, Math.round(ms / 1_000) * 1_000) }))}
    ${words('calls', 'Calls are', CALL_OPTIONS)} ${words('gates', 'Gates', GATE_OPTIONS)} ${words('outage', 'While down it', OUTAGE_OPTIONS)}
    ${words('backlog', 'Its queue is', BACKLOG_OPTIONS)}
  `
}

/** A number within the bounds of the engine. */
function limited(
  controls: Controls,
  name: keyof typeof LIMITS,
  label: string,
  help: string,
  kind: Knob['kind'],
  value: number,
  set: (value: number) => void,
  step = 1,
): TemplateResult {
  const [from, to] = LIMITS[name]
  const id = `view-${name}`
  const bounded = (given: number | undefined): void => {
    if (given === undefined) return
    if (!(given >= from && given <= to)) throw new RangeError(`expected ${from} to ${to}, got ${given}`)
    set(kind === 'share' ? given : Math.round(given))
    controls.keepText(id, undefined)
  }
  const state = { value, otherwise: undefined, known: controls.textOf(id) }
  return knob(id, { label, help, kind, from, to, step }, state, {
    slide: bounded,
    type: (text) => typed(controls, id, kind, text, bounded),
  })
}
