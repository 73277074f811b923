/** The base of the elements: the theme, and a redraw of what is drawn by hand when the page changes its size or its scheme. */

import { type CSSResultGroup, LitElement } from 'lit'
import { watchScheme } from './colours.ts'
import { theme } from './theme.ts'

export class RedriveElement extends LitElement {
  static override styles: CSSResultGroup = theme
  #unwatch: (() => void) | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#unwatch = watchScheme(() => this.schemeChanged())
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#unwatch?.()
  }

  /** Canvases have colours of their own to renew. */
  protected schemeChanged(): void {
    this.requestUpdate()
  }

  /** The root, once there is one. */
  protected get shadow(): ShadowRoot {
    return this.renderRoot as ShadowRoot
  }
}

/** Defines an element unless the page has one of this name already, such as by a second copy of the package. */
export function define(name: string, element: CustomElementConstructor): void {
  if (!globalThis.customElements?.get(name)) globalThis.customElements?.define(name, element)
}
