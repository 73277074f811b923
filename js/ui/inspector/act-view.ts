/** A button for an action, with what has come of it beside it. One that the source lacks is not there, one that it refuses says why. */

import { html, nothing } from 'lit'
import { harmless } from 'redrive/internal'
import type { InspectorAct, InspectorActType } from './source.ts'
import type { View } from './view.ts'
import type { Drawn } from './words.ts'

/** Why it may not be done; undefined: it may. */
const refusedBy = (view: View, type: InspectorActType): string | undefined => {
  const can = view.source.can[type]
  return typeof can === 'string' ? can : undefined
}

const isThere = (view: View, type: InspectorActType): boolean => !view.isReadonly && !!view.source.can[type]

interface Button {
  readonly type: InspectorActType
  readonly label: string
  /** Words for what it is about, for those who do not see where it stands. */
  readonly of?: string
  readonly class?: string
  readonly run: () => void
  readonly isBusy?: boolean
}

/** A button that stays reachable where it is refused: it tells why. */
export function actButton(view: View, { type, label, of, class: name = '', run, isBusy }: Button): Drawn {
  if (!isThere(view, type)) return nothing
  const refused = refusedBy(view, type)
  return html`<button
    class=${name}
    aria-label=${of ? `${label} ${harmless(of)}` : nothing}
    aria-disabled=${refused || isBusy ? 'true' : nothing}
    title=${refused ?? nothing}
    @click=${() => !refused && !isBusy && run()}
  >
    ${label}
  </button>`
}

/** A button that does it at once, and what came of it. */
export function doButton(view: View, key: string, act: InspectorAct, rest: Omit<Button, 'type' | 'run'>): Drawn {
  const isBusy = view.acts.of(key).isBusy ?? false
  return actButton(view, { ...rest, type: act.type, isBusy, run: () => view.act(key, act) })
}

/** The words for what has come of an action. */
export function outcomeOf(view: View, key: string): Drawn {
  const { isBusy, done, error } = view.acts.of(key)
  if (error) return html`<span class="bad outcome" role="alert">${harmless(error)}</span>`
  if (isBusy) return html`<span class="soft outcome">…</span>`
  return done ? html`<span class="good outcome" role="status">${harmless(done)}</span>` : nothing
}

/** The reason that all of these are refused, said once below them. */
export function refusalOf(view: View, ...types: readonly InspectorActType[]): Drawn {
  const reasons = new Set(types.filter((type) => isThere(view, type)).map((type) => refusedBy(view, type)))
  const said = [...reasons].filter((reason) => reason !== undefined)
  return said.length > 0 ? html`<p class="soft">Not allowed: ${harmless(said.join('; '))}</p>` : nothing
}
