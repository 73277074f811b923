/** Questions before many tasks are redriven, or any is deleted: each names how many, and the careless key does nothing. */

import { html, nothing } from 'lit'
import { grouped, harmless, plural } from 'redrive/internal'
import type { Asking, View } from './view.ts'
import type { Drawn } from './words.ts'

export function dialogView(view: View): Drawn {
  const { asking, ask } = view
  if (!asking) return nothing
  return html`<dialog aria-labelledby="asked" @close=${() => ask(undefined)} @keydown=${keepEscape}>
    <form method="dialog" @submit=${(event: SubmitEvent) => answer(event, view, asking)}>
      ${asking.type === 'redriveAll' ? redrivePart(asking.count) : purgePart(asking)}
    </form>
  </dialog>`
}

/** Escape closes the dialog, and not what is behind it too. */
function keepEscape(event: KeyboardEvent): void {
  if (event.key === 'Escape') event.stopPropagation()
}

/** The form closes its dialog by itself. */
function answer(event: SubmitEvent, view: View, asking: Asking): void {
  const given = new FormData(event.target as HTMLFormElement)
  if (asking.type === 'purge') view.act(`purge ${asking.taskId}`, asking)
  else if (asking.type === 'purgeAll') view.act('purgeAll', asking)
  else {
    const perSecond = Number(given.get('rate'))
    view.act('redriveAll', (signal, onProgress) => ({
      type: 'redriveAll',
      signal,
      onProgress,
      ...(perSecond > 0 && { perSecond }),
      acceptDuplicateRisk: given.has('risk'),
    }))
  }
}

/** Enter in a field is a yes, which what is to be typed there guards; where nothing is, the button that keeps has the focus. */
const buttons = (label: string, name: string, isGuarded = false): Drawn =>
  html`<div class="bar end">
    <button type="button" ?autofocus=${!isGuarded} @click=${keep}>${name === 'main' ? 'Not now' : 'Keep'}</button>
    <button class=${name}>${label}</button>
  </div>`

const keep = ({ target }: Event): void => (target as HTMLElement).closest('dialog')?.close()

function redrivePart(count: number): Drawn {
  return html`<h2 id="asked">Redrive ${plural(count, 'dead letter')}?</h2>
    <p>Each goes with its key and its history, and its attempts are counted anew.</p>
    <label>At most <input name="rate" type="number" min="0.01" max="1000" step="any" value="10" /> a second</label>
    <p class="soft">Leave it empty to redrive all at once; the limits of the queue hold anyway.</p>
    <label><input name="risk" type="checkbox" /> Also those whose key the target may have forgotten: it may do the work twice</label>
    ${buttons(`Redrive ${grouped(count)}`, 'main')}`
}

function purgePart(asking: Exclude<Asking, { type: 'redriveAll' }>): Drawn {
  if (asking.type === 'purge') {
    return html`<h2 id="asked">Delete 1 dead letter?</h2>
      <p class="mono">${harmless(asking.taskId)}</p>
      <p>Its request is lost, and it is not tried again.</p>
      ${buttons('Delete it', 'danger')}`
  }
  const { count } = asking
  return html`<h2 id="asked">Delete ${plural(count, 'dead letter')}?</h2>
    <p>Their requests are lost, and none is tried again. If there are more or fewer by then, nothing is deleted.</p>
    <label>Type ${count} to confirm <input name="count" required autofocus inputmode="numeric" autocomplete="off" pattern=${`${count}`} title="The number ${count}" /></label>
    ${buttons(`Delete ${grouped(count)}`, 'danger', true)}`
}
