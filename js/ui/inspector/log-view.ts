/** The log of events, as they come. */

import { html, nothing } from 'lit'
import { harmless, instant, kindWord, plural } from 'redrive/internal'
import type { View } from './view.ts'
import { clock, type Drawn } from './words.ts'

export function logView(view: View, toggle: () => void): Drawn {
  const { events, source, open } = view
  const { shown, isPaused, missed } = events
  return html`<div class="bar">
      <button aria-pressed=${isPaused} @click=${toggle}>${isPaused ? 'Resume' : 'Pause'}</button>
      <span class="soft">${isPaused ? `${plural(missed, 'event')} since` : source.listen ? 'The last 200 events of this queue' : 'What changed between two looks; the last 200'}</span>
    </div>
    ${
      shown.length === 0
        ? html`<p class="empty soft">Nothing has happened since this was opened. Attempts, retries, ends and circuits show here as they come.</p>`
        : html`<ol class="log" aria-label="Events" tabindex="0">
            ${shown.map(
              ({ at, kind, text, taskId, tone = '' }) =>
                html`<li>
                  <time class="soft" title=${instant(at)}>${clock(at)}</time> <b class=${tone}>${harmless(kindWord(kind))}</b>
                  <span>${harmless(text)}</span>
                  ${taskId ? html`<button class="quiet" aria-label="Open task ${harmless(taskId)}" @click=${() => open(taskId)}>open</button>` : nothing}
                </li>`,
            )}
          </ol>`
    }`
}
