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
    token: { attribute: false, noAccessor: true },
    src: {},
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
  /** The address that the token is for: that of its time, or the first one after. */
  #tokenFor: string | null | undefined
  #inspector: Inspector | undefined
  #isLoading = false
  #failure = ''

  /** For a service. Kept in memory alone: there is no attribute for it. */
  get token(): string | undefined {
    return this.#token
  }

  set token(token: string | undefined) {
    this.#token = token
    this.#tokenFor = this.src
    if (token !== undefined) this.#inspector?.authorize(token)
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
    this.#tokenFor ??= this.src
    // another service must not get it
    if (this.#tokenFor !== this.src) this.#token = undefined
    if (['queue', 'source', 'src'].some((name) => changed.has(name))) this.#inspector?.begin()
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
