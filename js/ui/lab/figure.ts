/** A view as it is shown: the picture with its sentence, its figures, and its table behind a button. */

import { html, nothing, type TemplateResult } from 'lit'
import type { Sight } from './sight.ts'

export interface FigureState {
  /** From 0 to 1; undefined: nothing is being computed. */
  readonly share: number | undefined
  readonly failure: string
  readonly isLoading: boolean
  readonly isTableOpen: boolean
  toggleTable(): void
  stop(): void
}

export function figure(
  sight: Sight | undefined,
  { share, failure, isLoading, isTableOpen, toggleTable, stop }: FigureState,
): TemplateResult {
  const isBusy = share !== undefined
  return html`<figure aria-busy=${isBusy ? 'true' : 'false'}>
    ${isBusy ? html`<div class="busy"><progress max="1" .value=${share} aria-label="Computing"></progress><span class="soft">${Math.round(share * 100)} %</span><button @click=${stop}>Stop</button></div>` : nothing}
    ${failure ? html`<p class="error" role="alert">${failure}</p>` : nothing}
    ${isLoading ? html`<p class="soft">Loading the core …</p>` : nothing}
    ${sight ? body(sight, isBusy || failure !== '', isTableOpen, toggleTable) : nothing}
  </figure>`
}

function body(
  { title, summary, picture, columns, rows, figures }: Sight,
  isStale: boolean,
  isTableOpen: boolean,
  toggle: () => void,
): TemplateResult {
  return html`
    <figcaption><h2>${title}</h2></figcaption>
    <p class="summary" aria-live="polite">${summary}</p>
    <div class=${isStale ? 'stale' : ''}>${picture}</div>
    <dl class="figures">
      ${figures.map(
        ({ name, value, beside, help, tone }) =>
          html`<div><dt>${name}</dt><dd class=${tone ?? ''}>${value}</dd>${beside ? html`<dd class="help beside">${beside}</dd>` : nothing}${help ? html`<dd class="help">${help}</dd>` : nothing}</div>`,
      )}
    </dl>
    <div>
      <button aria-expanded=${isTableOpen ? 'true' : 'false'} aria-controls="table" @click=${toggle}>${isTableOpen ? 'Hide the table' : 'Show the table'}</button>
    </div>
    <div id="table" class="scroll" role="region" tabindex="0" aria-label=${`${title}, as a table`} ?hidden=${!isTableOpen}>
      <table>
        <thead>
          <tr>${columns.map((each) => html`<th scope="col">${each}</th>`)}</tr>
        </thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
  `
}
