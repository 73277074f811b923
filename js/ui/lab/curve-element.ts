/**
 * `<redrive-curve>`, the lab: a policy, and what it does to one task, to a crowd, beside all others, and to a server that was down. Every number comes
 * from the core and from the model that `npm run sim:storm` runs; here they are asked for, drawn and listed.
 */

import { type CSSResultGroup, html, type PropertyDeclarations, type PropertyValues, type TemplateResult } from 'lit'
import type { Core, RetryPolicy } from 'redrive/core'
import { errorText, systemClock } from 'redrive/internal'
import { theCore } from '../base/core.ts'
import { RedriveElement } from '../base/element.ts'
import type { RedriveCurveElement } from '../elements.ts'
import '../plot/chart.ts'
import { CODE_KINDS, CODE_NAMES, type CodeKind, codeOf } from './code.ts'
import type { Computed } from './computed.ts'
import type { Controls, FieldText } from './controls.ts'
import { curveView, shortened } from './curve-view.ts'
import { figure } from './figure.ts'
import { labStyle } from './lab-style.ts'
import { policyPanel } from './policy-panel.ts'
import type { Sight } from './sight.ts'
import { FIRST_STATE, fragmentOf, type LabState, stateOf, VIEWS, type View } from './state.ts'
import { viewPanel } from './view-panel.ts'

const NAMES: Readonly<Record<View, string>> = { curve: 'Curve', crowd: 'Crowd', frontier: 'Frontier', outage: 'Outage' }

/**
 * Shows what a retry policy does. It needs nothing but its tag; `policy` may be set to any policy of `RetryPolicy`'s shape. Fires `change`, with
 * the policy in `detail`, whenever the reader has made another one. A fragment that its "Copy link" made opens the same view again.
 */
export class RedriveCurve extends RedriveElement implements RedriveCurveElement {
  static override styles: CSSResultGroup = [RedriveElement.styles, labStyle]
  static override properties: PropertyDeclarations = {
    policy: { attribute: false },
    versus: { attribute: false },
    view: {},
    linked: { type: Boolean },
  }

  /** Whether the address of the page follows what is shown, so that a reload and a bookmark keep it. Attribute. @default false */
  declare linked: boolean

  #state: LabState = FIRST_STATE
  #core: Core | undefined
  #computed: Promise<Computed> | undefined
  #sight: Sight | undefined
  /** The view that the sight is of. */
  #shown: View | undefined
  /** The state that was asked for last: answers for any other come too late. */
  #asked: LabState | undefined
  #stop: AbortController | undefined
  #failure = ''
  #share: number | undefined
  #failedAt: number = systemClock.now()
  readonly #texts: Map<string, FieldText> = new Map()
  #code: CodeKind = 'queue'
  #isTableOpen = true
  #said = ''

  constructor() {
    super()
    this.linked = false
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

  /** Which view is open: 'curve', 'crowd', 'frontier' or 'outage'; another word changes nothing. Attribute. @default 'curve' */
  get view(): View {
    return this.#state.view
  }
  set view(view: View) {
    if (VIEWS.includes(view)) this.#set({ view })
  }

  override connectedCallback(): void {
    super.connectedCallback()
    const linked = stateOf(location.hash)
    if (linked) this.#set(linked)
    theCore().then(
      (core) => {
        this.#core = core
        this.requestUpdate()
      },
      (error: unknown) => this.#fail(`The core did not load, so nothing can be computed: ${errorText(error)}`),
    )
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#computed?.then(
      (computed) => computed.close(),
      () => {}, // said when it was asked
    )
    this.#computed = undefined
    this.#asked = undefined
  }

  #set(change: Partial<LabState>): void {
    this.#state = { ...this.#state, ...change }
    if (change.policy) this.#failedAt = systemClock.now()
    this.requestUpdate()
  }

  /** A change by the reader. */
  #choose(change: Partial<LabState>): void {
    this.#set(change)
    this.#said = ''
    if (this.linked) history.replaceState(history.state, '', fragmentOf(this.#state))
    if (change.policy) this.dispatchEvent(new CustomEvent('change', { detail: change.policy }))
  }

  #fail(words: string): void {
    this.#failure = words
    this.#share = undefined
    this.requestUpdate()
  }

  protected override willUpdate(_: PropertyValues): void {
    if (!this.#core || this.#asked === this.#state) return
    const state = this.#state
    this.#asked = state
    // an outage asks twice: its second question would take the place of a newer one
    this.#stop?.abort()
    this.#failure = ''
    this.#share = undefined
    try {
      // with every view: it is the core that says what is wrong with a policy
      const curve = curveView(this.#core, state, this.#failedAt)
      if (state.view === 'curve') this.#show(state, curve)
      else void this.#compute(state)
    } catch (error) {
      this.#fail(errorText(error))
    }
  }

  #show(state: LabState, sight: Sight): void {
    this.#sight = sight
    this.#shown = state.view
    this.requestUpdate()
  }

  async #compute(state: LabState): Promise<void> {
    const isLate = (): boolean => this.#asked !== state
    try {
      this.#computed ??= import('./computed.ts').then(({ Computed }) => new Computed())
      const computed = await this.#computed
      if (isLate()) return
      this.#stop = new AbortController()
      const sight = await computed.sightOf(state, {
        root: this.shadow,
        signal: this.#stop.signal,
        onProgress: (share, partial) => {
          if (isLate()) return
          this.#share = share
          if (partial) this.#show(state, partial)
          this.requestUpdate()
        },
        resized: () => {
          if (!isLate()) void this.#compute(state)
        },
      })
      if (isLate()) return
      this.#share = undefined
      this.#show(state, sight)
    } catch (error) {
      if (isLate()) return
      if (error instanceof DOMException && error.name === 'AbortError') {
        // by its reader: what is known so far stays
        this.#share = undefined
        this.#said = 'Stopped'
        this.requestUpdate()
        return
      }
      this.#computed = undefined
      this.#fail(errorText(error))
    }
  }

  get #controls(): Controls {
    const core = (): Core => {
      if (!this.#core) throw new Error('the core is loading still; try again')
      return this.#core
    }
    return {
      state: this.#state,
      failure: this.#failure,
      parseDuration: (text) => core().parseDuration(text),
      // two attempts are enough for every rule to be looked at
      assertSound: (policy) => void core().backoffSchedule(shortened(policy, 2)),
      textOf: (field) => this.#texts.get(field),
      keepText: (field, text) => {
        if (text) this.#texts.set(field, text)
        else this.#texts.delete(field)
        this.requestUpdate()
      },
      forgetTexts: () => this.#texts.clear(),
      set: (change) => this.#choose(change),
    }
  }

  override render(): TemplateResult {
    const { view } = this.#state
    const controls = this.#controls
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
              @click=${() => this.#choose({ view: each })}
            >${NAMES[each]}</button>`,
          )}
        </div>
        <div class="actions">
          <span class="soft" role="status">${this.#said}</span>
          <button @click=${this.#copyLink}>Copy link</button>
        </div>
      </header>
      <section class="panel" id="view" role="tabpanel" aria-labelledby=${`tab-${view}`}>
        ${figure(this.#shown === view ? this.#sight : undefined, {
          share: this.#share,
          failure: this.#failure,
          isLoading: !this.#core && this.#failure === '',
          isTableOpen: this.#isTableOpen,
          stop: () => this.#stop?.abort(),
          toggleTable: () => {
            this.#isTableOpen = !this.#isTableOpen
            this.requestUpdate()
          },
        })}
        ${viewPanel(controls)}
      </section>
      <section class="panel knobs" aria-label="Policy">${policyPanel(controls)}</section>
      <section class="panel code" aria-label="As code">${this.#codePanel()}</section>
    </div>`
  }

  #codePanel(): TemplateResult {
    const code = codeOf(this.#state.policy, this.#code)
    const choose = (kind: CodeKind): void => {
      this.#code = kind
      this.requestUpdate()
    }
    return html`<div class="actions">
        <h2>As code</h2>
        ${CODE_KINDS.map(
          (kind) =>
            html`<button aria-pressed=${kind === this.#code ? 'true' : 'false'} @click=${() => choose(kind)}>${CODE_NAMES[kind]}</button>`,
        )}
        <button class="main" @click=${() => this.#copy(code, 'The code is copied')}>Copy</button>
      </div>
      <pre tabindex="0" role="region" aria-label="The policy as code"><code>${code}</code></pre>`
  }

  readonly #moveTab = (event: KeyboardEvent): void => {
    const at = VIEWS.indexOf(this.#state.view)
    const last = VIEWS.length - 1
    const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[
      event.key
    ]
    const view = next === undefined ? undefined : VIEWS[next]
    if (!view) return
    event.preventDefault()
    this.#choose({ view })
    void this.updateComplete.then(() =>
      this.shadow.querySelector<HTMLElement>('[role=tab][aria-selected=true]')?.focus(),
    )
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
      this.#said = 'The browser does not allow copying here'
    }
    this.requestUpdate()
  }
}
