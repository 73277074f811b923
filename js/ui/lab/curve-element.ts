/**
 * `<redrive-curve>`, the lab: a policy, and what it does to one task, to a crowd, beside all others, and to a server that was away. Every number comes
 * from the core and from the model that `npm run sim:storm` runs; here they are asked for, drawn and listed.
 */

import { type CSSResultGroup, html, nothing, type PropertyValues, type TemplateResult } from 'lit'
import type { BackoffStrategy, JitterType, RetryPolicy } from '../../api/policy.ts'
import type { Core } from '../../core/functions.ts'
import { presets } from '../../options/presets.ts'
import { theCore } from '../base/core.ts'
import { RedriveElement } from '../base/element.ts'
import type { LabEngine } from '../engine/model.ts'
import '../plot/chart.ts'
import { RedriveDots } from '../plot/dots.ts'
import { CODE_KINDS, type CodeKind, codeOf, presetOf } from './code.ts'
import { crowdView } from './crowd-view.ts'
import { curveView } from './curve-view.ts'
import { frontierView } from './frontier-view.ts'
import { knob, plainDuration } from './knob.ts'
import { labStyle } from './lab-style.ts'
import { outageView } from './outage-view.ts'
import { JITTERS, type Knob, knobsFor, knobsOf, STRATEGY_KNOBS, withStrategy } from './policy-knobs.ts'
import type { Sight } from './sight.ts'
import {
  BACKLOGS,
  FIRST_STATE,
  fragmentOf,
  GATES,
  type LabState,
  LIMITS,
  OUTAGES,
  type OutageState,
  stateOf,
  VIEWS,
  type View,
} from './state.ts'

const NAMES: Readonly<Record<View, string>> = { curve: 'Curve', crowd: 'Crowd', frontier: 'Frontier', outage: 'Outage' }
const CODE_NAMES: Readonly<Record<CodeKind, string>> = {
  queue: 'RetryQueue',
  cli: 'Command line',
  environment: 'Environment',
}

/** Retries of a crowd that are looked at, as in the article's chart. */
const CROWD_RETRIES = 10
/** More dots than these are a raster. */
const DOTS_MOST = 20_000
/** Crowds that each row of the frontier is the mean of. */
const CROWDS = 20

/**
 * Shows what a retry policy does. It needs nothing but its tag; `policy` may be set to any policy of `RetryPolicy`'s shape. Fires `change`, with
 * the policy in `detail`, whenever the reader has made another one.
 */
export class RedriveCurve extends RedriveElement {
  static override styles: CSSResultGroup = [RedriveElement.styles, labStyle]
  static override properties = {
    policy: { attribute: false },
    versus: { attribute: false },
    view: {},
    linked: { type: Boolean },
    _version: { state: true },
  }

  /** Whether the address of the page follows what is shown, so that a reload and a bookmark keep it. Attribute. @default false */
  declare linked: boolean
  declare private _version: number

  #state: LabState = FIRST_STATE
  #core: Core | undefined
  #engine: Promise<LabEngine> | undefined
  #fieldsOf: ((policy: Partial<RetryPolicy>) => Float64Array) | undefined
  #sight: Sight | undefined
  /** What the sight was made of. */
  #shown: LabState | undefined
  #asked: LabState | undefined
  #failure = ''
  #share: number | undefined
  #failedAt: number = Date.now()
  /** Text of a field that cannot be read, and why. */
  readonly #texts: Map<string, { readonly text: string; readonly error: string }> = new Map()
  #code: CodeKind = 'queue'
  #isTableOpen = true
  #said = ''

  constructor() {
    super()
    this.linked = false
    this._version = 0
  }

  /** The policy that is looked at. @default presets.interactive */
  get policy(): Partial<RetryPolicy> {
    return this.#state.policy
  }
  set policy(policy: Partial<RetryPolicy>) {
    this.#set({ policy })
  }

  /** A second policy, laid over the first one's curve. null: none. @default null */
  get versus(): Partial<RetryPolicy> | null {
    return this.#state.versus
  }
  set versus(versus: Partial<RetryPolicy> | null) {
    this.#set({ versus })
  }

  /** Which view is open: 'curve', 'crowd', 'frontier' or 'outage'. Attribute. @default 'curve' */
  get view(): View {
    return this.#state.view
  }
  set view(view: View) {
    if (VIEWS.includes(view)) this.#set({ view })
  }

  override connectedCallback(): void {
    super.connectedCallback()
    const linked = stateOf(location.hash)
    if (linked) this.#state = linked
    this.#load()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#engine?.then(
      (engine) => engine.close(),
      () => {}, // said when it was asked
    )
    this.#engine = undefined
    this.#asked = undefined
  }

  #load(): void {
    theCore().then(
      (core) => {
        this.#core = core
        this._version += 1
      },
      (error: unknown) => this.#fail(`The core did not load, so nothing can be computed: ${wordsOf(error)}.`),
    )
  }

  /** Changes what is shown; `told`: by the reader. */
  #set(change: Partial<LabState>, told = false): void {
    this.#state = { ...this.#state, ...change }
    if (change.policy) this.#failedAt = Date.now()
    this._version += 1
    if (!told) return
    if (this.linked) history.replaceState(history.state, '', fragmentOf(this.#state))
    if (change.policy) this.dispatchEvent(new CustomEvent('change', { detail: this.#state.policy }))
  }

  #fail(words: string): void {
    this.#failure = words
    this.#share = undefined
    this._version += 1
  }

  protected override willUpdate(_: PropertyValues): void {
    if (this.#core && this.#asked !== this.#state) this.#refresh(this.#core)
  }

  /** Asks for what the view needs. Answers that come late, for a state that has passed, are dropped. */
  #refresh(core: Core): void {
    const state = this.#state
    this.#asked = state
    this.#failure = ''
    try {
      // also where another view is open: it says what is wrong with the policy
      const curve = curveView(core, state, this.#failedAt)
      if (state.view === 'curve') {
        this.#share = undefined
        this.#show(state, curve)
      } else void this.#compute(state)
    } catch (error) {
      this.#fail(wordsOf(error))
    }
  }

  #show(state: LabState, sight: Sight): void {
    this.#sight = sight
    this.#shown = state
  }

  async #compute(state: LabState): Promise<void> {
    this.#share = 0
    try {
      const sight = await this.#ask(state)
      if (this.#asked !== state || !sight) return
      this.#share = undefined
      this.#show(state, sight)
    } catch (error) {
      if (this.#asked !== state || (error as { name?: string }).name === 'AbortError') return
      this.#fail(wordsOf(error))
    }
    this._version += 1
  }

  async #ask(state: LabState): Promise<Sight | undefined> {
    this.#engine ??= openEngine()
    const engine = await this.#engine.catch((error: unknown) => {
      this.#engine = undefined
      throw error
    })
    this.#fieldsOf ??= (await import('./fields.ts')).fieldsOf
    if (this.#asked !== state) return undefined
    const { policy, jobs, seed, outage } = state
    const fields = this.#fieldsOf(policy)
    const onProgress = (share: number): void => {
      if (this.#asked !== state) return
      this.#share = share
      this._version += 1
    }
    if (state.view === 'crowd') {
      const raster = this.#dots?.raster ?? { width: 1_200, height: 520 }
      const request = { fields, jobs, retries: CROWD_RETRIES, seed, ...raster, dotsMax: DOTS_MOST }
      const resized = (): void => {
        if (this.#asked === state) void this.#compute(state)
      }
      return crowdView(await engine.crowd(request, { onProgress }), jobs, raster, resized)
    }
    if (state.view === 'frontier') {
      const answer = await engine.frontier({ fields, crowds: CROWDS, seed }, { onProgress })
      return frontierView(answer, policy.policyId ?? 'own')
    }
    const { capacity, load, outageMs, ...rest } = outage
    const request = {
      ...rest,
      fields,
      seed,
      load,
      capacityPerSecond: capacity,
      outageMs: Math.round(outageMs / 1_000) * 1_000,
    }
    return outageView(await engine.outage(request, { onProgress }), outage)
  }

  get #dots(): RedriveDots | undefined {
    const found = this.shadow.querySelector('redrive-dots')
    return found instanceof RedriveDots ? found : undefined
  }

  override render(): TemplateResult {
    const { view } = this.#state
    return html`<div class="lab">
      <header>
        <div role="tablist" aria-label="Views" @keydown=${this.#moveTab}>
          ${VIEWS.map(
            (each) => html`<button
              role="tab"
              id=${`tab-${each}`}
              aria-selected=${each === view ? 'true' : 'false'}
              aria-controls="view"
              tabindex=${each === view ? 0 : -1}
              @click=${() => this.#set({ view: each }, true)}
            >${NAMES[each]}</button>`,
          )}
        </div>
        <div class="actions">
          <span class="soft" role="status">${this.#said}</span>
          <button @click=${this.#copyLink}>Copy link</button>
        </div>
      </header>
      <section class="panel knobs" aria-label="Policy">${this.#knobs()}</section>
      <div class="views">
        <section class="panel" id="view" role="tabpanel" aria-labelledby=${`tab-${view}`}>${this.#viewKnobs()} ${this.#figure()}</section>
        <section class="panel knobs" aria-label="As code">${this.#codePanel()}</section>
      </div>
    </div>`
  }

  readonly #moveTab = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -VIEWS.length, End: VIEWS.length }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = VIEWS.indexOf(this.#state.view) + step
    const wrapped =
      Math.abs(step) === 1 ? (at + VIEWS.length) % VIEWS.length : Math.max(0, Math.min(VIEWS.length - 1, at))
    this.#set({ view: VIEWS[wrapped] ?? 'curve' }, true)
    void this.updateComplete.then(() =>
      this.shadow.querySelector<HTMLElement>('[role=tab][aria-selected=true]')?.focus(),
    )
  }

  #knobs(): TemplateResult {
    const { policy, versus, retryAfter } = this.#state
    const { strategy, says, hasJitter } = knobsOf(policy.strategy)
    const names = Object.keys(presets)
    const chosen = presetOf(policy)
    const other = versus ? presetOf(versus) : undefined
    const list = (
      id: string,
      label: string,
      options: readonly (readonly [string, string])[],
      value: string,
      set: (value: string) => void,
    ): TemplateResult => select(id, label, options, value, set)
    return html`
      ${list('preset', 'Preset', [...(chosen ? [] : [['', 'own'] as const]), ...names.map((name) => [name, name] as const)], chosen ?? '', (name) => this.#choose(name, 'policy'))}
      ${list(
        'strategy',
        'Strategy',
        STRATEGY_KNOBS.map((each) => [each.strategy, each.strategy] as const),
        strategy,
        (value) => this.#own(withStrategy(policy, value as BackoffStrategy)),
      )}
      <p class="note soft">${says}</p>
      ${
        hasJitter
          ? list(
              'jitter',
              'Jitter',
              JITTERS.map((each) => [each, each.toLowerCase().replaceAll('_', ' ')] as const),
              policy.jitterType ?? 'FULL',
              (value) => this.#own({ ...policy, jitterType: value as JitterType }),
            )
          : nothing
      }
      ${strategy === 'table' ? this.#delays() : nothing}
      ${knobsFor(policy).map((each) =>
        knob(
          each.field,
          each,
          { value: policy[each.field], ...(this.#texts.get(each.field) ?? { text: undefined, error: undefined }) },
          {
            slide: (value) => this.#slide(each.field, value),
            type: (text) =>
              this.#type(each.field, each.kind, text, (value) => this.#own(withField(policy, each.field, value))),
          },
        ),
      )}
      <div class="knob wide">
        <label for="retry-after">Retry-After of a server</label>
        <input id="retry-after" type="text" autocomplete="off" spellcheck="false" placeholder="none, such as 120 or a date" .value=${retryAfter} @input=${(event: Event) => this.#set({ retryAfter: (event.target as HTMLInputElement).value.slice(0, 100) }, true)} />
      </div>
      ${list('versus', 'Compare with', [['', 'nothing'], ...(versus && !other ? [['own', 'own'] as const] : []), ...names.map((name) => [name, name] as const)], versus ? (other ?? 'own') : '', (name) => this.#choose(name, 'versus'))}
      <div class="knob wide">
        <label for="json">Policy as JSON</label>
        <textarea
          id="json"
          rows=${Math.min(18, Object.keys(policy).length + 3)}
          spellcheck="false"
          autocomplete="off"
          aria-invalid=${this.#texts.has('json') || (this.#failure !== '' && !this.#share) ? 'true' : 'false'}
          aria-describedby="json-error"
          .value=${this.#texts.get('json')?.text ?? JSON.stringify(policy, undefined, 2)}
          @input=${this.#typeJson}
        ></textarea>
        <span id="json-error" class="note error">${this.#texts.get('json')?.error ?? ''}</span>
      </div>
    `
  }

  #delays(): TemplateResult {
    const { policy } = this.#state
    const { core } = { core: this.#core }
    const known = this.#texts.get('delaysMs')
    const read = (event: Event): void => {
      const text = (event.target as HTMLInputElement).value
      const parts = text
        .split(/[,;]/)
        .map((part) => part.trim())
        .filter((part) => part !== '')
      this.#attempt('delaysMs', text, () => {
        const delaysMs = parts.map((part) => core?.parseDuration(plainDuration(part)) ?? 0)
        this.#own({ ...policy, delaysMs })
      })
    }
    return html`<div class="knob wide">
      <label for="delays">Waits</label>
      <input id="delays" type="text" autocomplete="off" spellcheck="false" aria-invalid=${known ? 'true' : 'false'} aria-describedby="delays-error" .value=${known?.text ?? (policy.delaysMs ?? []).map((ms) => `${ms}ms`.replace(/000ms$/, 's')).join(', ')} @change=${read} />
      <span id="delays-error" class=${known ? 'note error' : 'hidden'}>${known?.error ?? 'durations with commas between them'}</span>
    </div>`
  }

  #choose(name: string, which: 'policy' | 'versus'): void {
    const preset = Object.entries(presets).find(([each]) => each === name)?.[1]
    if (which === 'versus') this.#set({ versus: preset ?? null }, true)
    else if (preset) {
      this.#texts.clear()
      this.#set({ policy: preset }, true)
    }
  }

  /** A policy that is no preset any more has a name of its own. */
  #own(policy: Partial<RetryPolicy>): void {
    const isNamed = policy.policyId !== undefined && !(policy.policyId in presets)
    this.#texts.clear()
    this.#set({ policy: isNamed || presetOf(policy) ? policy : { ...policy, policyId: 'own' } }, true)
  }

  #slide(field: Knob['field'], value: number): void {
    this.#own(withField(this.#state.policy, field, value))
  }

  #type(field: string, kind: Knob['kind'], text: string, apply: (value: number | undefined) => void): void {
    this.#attempt(field, text, () => {
      const plain = text.trim()
      if (plain === '') return apply(undefined)
      const value =
        kind === 'ms'
          ? this.#core?.parseDuration(plainDuration(plain))
          : Number(plain.replaceAll(/[ ,_](?=\d{3})/g, ''))
      if (value === undefined) return
      if (Number.isNaN(value)) throw new RangeError(`expected a number, got '${plain}'`)
      apply(value)
    })
  }

  /** Keeps text that cannot be read in its field, with the reason. */
  #attempt(field: string, text: string, work: () => void): void {
    this.#texts.delete(field)
    try {
      work()
    } catch (error) {
      this.#texts.set(field, { text, error: wordsOf(error).replace(/^text: /, '') })
    }
    this._version += 1
  }

  readonly #typeJson = (event: Event): void => {
    const text = (event.target as HTMLTextAreaElement).value
    this.#attempt('json', text, () => {
      const policy = policyOf(text)
      // refused by the core before it is shown: the picture stays that of the last sound policy
      this.#core?.backoffSchedule({ ...policy, maxAttempts: Math.min(Number(policy.maxAttempts ?? 2), 2) })
      this.#set({ policy }, true)
      // as it was typed, as long as it is typed
      this.#texts.set('json', { text, error: '' })
    })
  }

  #viewKnobs(): TemplateResult | typeof nothing {
    const { view, jobs, seed, outage } = this.#state
    const number = (
      name: keyof typeof LIMITS,
      label: string,
      help: string,
      kind: Knob['kind'],
      value: number,
      set: (value: number) => void,
      step = 1,
    ): TemplateResult => {
      const [from, to] = LIMITS[name]
      const bounded = (value: number | undefined): void => {
        if (value === undefined) return
        if (value < from || value > to) throw new RangeError(`expected ${from} to ${to}, got ${value}`)
        set(value)
      }
      return knob(
        `view-${name}`,
        { label, help, kind, from: Math.max(from, step), to, step },
        { value, ...(this.#texts.get(`view-${name}`) ?? { text: undefined, error: undefined }) },
        { slide: bounded, type: (text) => this.#type(`view-${name}`, kind, text, bounded) },
      )
    }
    const change = (part: Partial<OutageState>): void => this.#set({ outage: { ...this.#state.outage, ...part } }, true)
    const seedKnob = html`<div class="knob"><label for="view-seed">Seed</label><input id="view-seed" type="text" inputmode="numeric" autocomplete="off" .value=${String(seed)} aria-describedby="seed-note" @change=${(
      event: Event,
    ) => {
      const value = Math.round(Number((event.target as HTMLInputElement).value))
      if (value >= LIMITS.seed[0] && value <= LIMITS.seed[1]) this.#set({ seed: value }, true)
      else this._version += 1
    }} /><span id="seed-note" class="note soft">the same seed draws the same picture</span></div>`
    if (view === 'crowd')
      return html`<div class="row">${number('jobs', 'Jobs', 'that fail at the same moment', 'count', jobs, (value) => this.#set({ jobs: Math.round(value) }, true))}${seedKnob}</div>`
    if (view === 'frontier') return html`<div class="row">${seedKnob}</div>`
    if (view !== 'outage') return nothing
    const words = (
      id: keyof OutageState,
      label: string,
      options: readonly (readonly [string, string])[],
    ): TemplateResult => select(`view-${id}`, label, options, String(outage[id]), (value) => change({ [id]: value }))
    return html`<div class="row">
      ${number('clients', 'Clients', 'with a queue each', 'count', outage.clients, (clients) => change({ clients: Math.round(clients) }))}
      ${number('capacity', 'Capacity', 'requests that the server can do in a second', 'count', outage.capacity, (capacity) => change({ capacity: Math.round(capacity) }), 50)}
      ${number('load', 'Load', 'new calls, as a share of the capacity', 'share', outage.load, (load) => change({ load }), 0.05)}
      ${number('outageMs', 'Outage', 'the server is away for so long', 'ms', outage.outageMs, (outageMs) => change({ outageMs: Math.max(1_000, Math.round(outageMs / 1_000) * 1_000) }))}
      ${words(
        'gates',
        'Gates',
        GATES.map((each) => [each, GATE_NAMES[each]] as const),
      )}
      ${words(
        'outage',
        'While away it',
        OUTAGES.map((each) => [each, each === 'hanging' ? 'hangs' : 'answers 503'] as const),
      )}
      ${words(
        'backlog',
        'Its queue is',
        BACKLOGS.map((each) => [each, each === 'deep' ? 'longer than clients wait' : 'short'] as const),
      )}
      ${seedKnob}
    </div>`
  }

  #figure(): TemplateResult {
    const { view } = this.#state
    const sight = this.#shown?.view === view ? this.#sight : undefined
    const isBusy = this.#share !== undefined
    return html`<figure aria-busy=${isBusy ? 'true' : 'false'}>
      <div class="busy">
        ${isBusy ? html`<progress max="1" .value=${this.#share ?? 0} aria-label="Computing"></progress><span class="soft">computing, ${Math.round((this.#share ?? 0) * 100)} %</span>` : nothing}
      </div>
      ${this.#failure ? html`<p class="error" role="alert">${this.#failure}</p>` : nothing}
      ${!this.#core && !this.#failure ? html`<p class="soft">Loading the core …</p>` : nothing}
      ${sight ? this.#sightOf(sight, isBusy || this.#failure !== '') : nothing}
    </figure>`
  }

  #sightOf({ title, summary, picture, columns, rows, figures }: Sight, isStale: boolean): TemplateResult {
    return html`
      <figcaption><h2>${title}</h2></figcaption>
      <p class="summary" aria-live="polite">${summary}</p>
      <dl class="figures">
        ${figures.map(({ name, value, help, tone }) => html`<div><dt>${name}</dt><dd class=${tone ?? ''}>${value}</dd>${help ? html`<dd class="help">${help}</dd>` : nothing}</div>`)}
      </dl>
      <div class=${isStale ? 'stale' : ''}>${picture}</div>
      <div><button aria-expanded=${this.#isTableOpen ? 'true' : 'false'} aria-controls="table" @click=${() => {
        this.#isTableOpen = !this.#isTableOpen
        this._version += 1
      }}>${this.#isTableOpen ? 'Hide the table' : 'Show as a table'}</button></div>
      <div id="table" class="scroll" role="region" tabindex="0" aria-label=${`${title}, as a table`} ?hidden=${!this.#isTableOpen}>
        <table>
          <thead><tr>${columns.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
          <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
        </table>
      </div>`
  }

  #codePanel(): TemplateResult {
    const code = codeOf(this.#state.policy, this.#code)
    return html`<div class="actions">
        <h3>As code</h3>
        ${CODE_KINDS.map(
          (kind) =>
            html`<button aria-pressed=${kind === this.#code ? 'true' : 'false'} @click=${() => {
              this.#code = kind
              this._version += 1
            }}>${CODE_NAMES[kind]}</button>`,
        )}
        <button class="main" @click=${() => this.#copy(code, 'The code is copied')}>Copy</button>
      </div>
      <pre tabindex="0" aria-label="The policy as code"><code>${code}</code></pre>`
  }

  readonly #copyLink = (): void => {
    const { origin, pathname, search } = location
    void this.#copy(origin + pathname + search + fragmentOf(this.#state), 'The link is copied')
  }

  async #copy(text: string, done: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      this.#said = done
    } catch {
      // no permission, or a page without TLS
      this.#said = 'The browser did not let it be copied: select it and copy it by hand'
    }
    this._version += 1
  }
}

const GATE_NAMES: Readonly<Record<OutageState['gates'], string>> = {
  shipped: 'on: breaker, ramp, budget',
  'breaker-budget': 'breaker and budget',
  breaker: 'breaker alone',
  budget: 'budget alone',
  none: 'off',
}

function select(
  id: string,
  label: string,
  options: readonly (readonly [string, string])[],
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

/** A budget beyond the life of a key is refused, so the one raises the other. */
function withField(
  policy: Partial<RetryPolicy>,
  field: Knob['field'],
  value: number | undefined,
): Partial<RetryPolicy> {
  const { [field]: _, ...rest } = policy
  if (value === undefined) return rest
  const keyTtlMs = field === 'totalBudgetMs' && value > (policy.keyTtlMs ?? 86_400_000) ? { keyTtlMs: value } : {}
  return { ...policy, ...keyTtlMs, [field]: value }
}

function policyOf(text: string): Partial<RetryPolicy> {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new TypeError('expected a JSON object, such as {"strategy": "spread"}')
}

const openEngine = async (): Promise<LabEngine> => {
  const { openLabEngine } = await import('../engine/lab-engine.ts')
  return openLabEngine()
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
