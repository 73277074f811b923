/**
 * `<redrive-inspector>`: what a queue, or a retry service, is doing, and why each task is where it is. This is its outside, which every page with
 * `@redrive/ui` loads; what is inside comes with the first one that is used. After each look at its source it dispatches `redrive-look`, whose
 * `detail` is the `InspectorOverview`.
 */

import { html, type PropertyDeclarations, type PropertyValues, type TemplateResult } from 'lit'
import type { RetryQueue } from 'redrive'
import { errorText } from 'redrive/internal'
import { RedriveElement } from '../base/element.ts'
import type { RedriveInspectorElement } from '../elements.ts'
import type { Inspector } from './inspector.ts'
import type { InspectorSource } from './source.ts'

export class RedriveInspector extends RedriveElement implements RedriveInspectorElement {
  static override properties: PropertyDeclarations = {
    queue: { attribute: false },
    source: { attribute: false },
    src: {},
    // after what it is for: in this order Lit sets what an element was given before it was defined
    token: { attribute: false, noAccessor: true },
    readonly: { type: Boolean },
  }

  /** The queue to look at. */
  declare queue: RetryQueue | undefined
  /** Whatever else satisfies `InspectorSource`. Comes before `queue`, and that before `src`. */
  declare source: InspectorSource | undefined
  /** The address of a retry service; '' or '/': the page's own origin. */
  declare src: string | null | undefined
  /** Without any action. */
  declare readonly: boolean | undefined

  #token: string | undefined
  /** The target that the token is for: that of its time, or the first one after. */
  #tokenFor: unknown
  #inspector: Inspector | undefined
  #isLoading = false
  #failure = ''

  get #target(): unknown {
    return this.source ?? this.queue ?? this.src
  }

  /** For a service. Kept in memory alone: there is no attribute for it. */
  get token(): string | undefined {
    // another target must not get it
    return (this.#tokenFor ?? this.#target) === this.#target ? this.#token : undefined
  }

  set token(token: string | undefined) {
    this.#token = token
    this.#tokenFor = this.#target
    // not given at once: until the update the inspector looks at the target before
    this.requestUpdate('token')
  }

  override connectedCallback(): void {
    super.connectedCallback()
    this.#inspector?.connected()
    if (!this.#inspector) void this.#load()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#inspector?.disconnected()
  }

  async #load(): Promise<void> {
    if (this.#isLoading) return
    this.#isLoading = true
    try {
      const { Inspector } = await import('./inspector.ts')
      await this.updateComplete // there is a root to draw into
      this.#inspector = new Inspector(this)
      this.#inspector.begin()
      if (this.isConnected) this.#inspector.connected()
    } catch (error) {
      this.#failure = errorText(error)
    }
    this.#isLoading = false
    this.requestUpdate()
  }

  protected override willUpdate(changed: PropertyValues): void {
    this.#tokenFor ??= this.#target
    this.#token = this.token
    const isOther = ['queue', 'source', 'src'].some((name) => changed.has(name)) || this.#inspector?.isOutdated
    if (isOther) this.#inspector?.begin()
    else if (changed.has('token') && this.#token !== undefined) this.#inspector?.authorize(this.#token)
  }

  override render(): TemplateResult {
    if (this.#inspector) return this.#inspector.render()
    return this.#failure
      ? html`<p class="bad" role="alert">The inspector cannot be loaded: ${this.#failure}. Put it into the page anew to try again.</p>`
      : html`<p class="soft" role="status">Loading the inspector</p>`
  }

  protected override updated(): void {
    this.#inspector?.updated()
  }
}
