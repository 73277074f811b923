/** Tasks by status: what is filtered and searched for, the rows in view, and how many of how many are loaded. */

import { html, nothing } from 'lit'
import { repeat } from 'lit/directives/repeat.js'
import type { TaskStatus } from 'redrive'
import { grouped, harmless, plural } from 'redrive/internal'
import { actButton, outcomeOf, refusalOf } from './act-view.ts'
import { laneOf, nextOf, seconds } from './held.ts'
import { idIn } from './search.ts'
import type { InspectorTask } from './source.ts'
import type { View } from './view.ts'
import { type Drawn, mark, STATUSES, urlOf } from './words.ts'

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Pixels that a pointer may move between its press and its release. */
const STRAY = 20
const COLUMNS = ['Status', 'Method', 'URL', 'Attempt', 'Next', 'Age']

export function listView(view: View): Drawn {
  const { list, overview } = view
  const { status, origin, search } = list
  const origins = [...new Set([...(overview?.origins ?? []).map((each) => each.origin), ...(origin ? [origin] : [])])]
  const option = (value: string, chosen: string, label = value): Drawn =>
    html`<option value=${value} ?selected=${value === chosen}>${harmless(label)}</option>`
  return html`
    <div class="bar" role="group" aria-label="Status">
      ${statusButton(view, '')} ${Object.keys(STATUSES).map((each) => statusButton(view, each as TaskStatus))}
    </div>
    <form class="bar" role="search" @submit=${(event: Event) => openNamed(event, view)}>
      <input
        type="search"
        aria-label="Search id, key, principal, URL and tags"
        placeholder="id, key, principal, URL, tag"
        .value=${search.text}
        @input=${({ target }: Event) => view.filter({ search: { ...search, text: (target as HTMLInputElement).value } })}
      />
      <select aria-label="Origin" @change=${({ target }: Event) => view.filter({ origin: (target as HTMLSelectElement).value })}>
        ${option('', origin, 'all origins')} ${origins.sort().map((each) => option(each, origin))}
      </select>
      <select
        aria-label="Method"
        @change=${({ target }: Event) => view.filter({ search: { ...search, method: (target as HTMLSelectElement).value } })}
      >
        ${option('', search.method, 'all methods')} ${METHODS.map((each) => option(each, search.method))}
      </select>
    </form>
    ${status === 'EXHAUSTED' ? deadBar(view) : nothing} ${loadedView(view)} ${rowsView(view)}
  `
}

/** An id that is searched for opens its task, loaded or not. */
function openNamed(event: Event, view: View): void {
  event.preventDefault()
  const id = idIn(view.list.search.text)
  if (id) view.open(id)
}

function statusButton({ list, overview, filter }: View, status: TaskStatus | ''): Drawn {
  const count = status && overview?.counts[status]
  const label = status === 'EXHAUSTED' ? 'dead letters' : status ? STATUSES[status][0] : 'all'
  return html`<button aria-pressed=${status === list.status} @click=${() => filter({ status })}>
    ${label}${typeof count === 'number' ? html` <b>${grouped(count)}</b>` : nothing}
  </button>`
}

function deadBar(view: View): Drawn {
  const count = view.overview?.deadLetters ?? 0
  const { isBusy, progress } = view.acts.of('redriveAll')
  const stop = html`<button @click=${() => view.acts.stop('redriveAll')}>Stop</button>`
  return html`<div class="bar">
      ${
        isBusy
          ? html`<progress aria-label="Redriving" max=${progress?.total || 1} .value=${progress?.done ?? 0}></progress>
              <span>${grouped(progress?.done ?? 0)} of ${grouped(progress?.total ?? count)} redriven</span> ${stop}`
          : actButton(view, {
              type: 'redriveAll',
              label: 'Redrive all…',
              isBusy: count === 0,
              run: () => view.ask({ type: 'redriveAll', count }),
            })
      }
      ${actButton(view, {
        type: 'purgeAll',
        label: 'Delete all…',
        class: 'danger',
        isBusy: count === 0,
        run: () => view.ask({ type: 'purgeAll', count }),
      })}
      ${isBusy ? nothing : outcomeOf(view, 'redriveAll')} ${outcomeOf(view, 'purgeAll')}
    </div>
    ${refusalOf(view, 'redriveAll', 'purgeAll')}`
}

/** How much of all of it is here: the scrollbar is that of what is loaded. */
function loadedView({ list, overview, source, loadAll }: View): Drawn {
  const { status, origin, search, loaded, shown, isWhole, isLoadingAll, isFresh } = list
  if (isFresh) return nothing
  const total = origin || !status ? undefined : overview?.counts[status]
  const searched = search.text || search.method ? `${grouped(shown.length)} fit, among ` : ''
  const known = isWhole
    ? plural(loaded, 'task')
    : total === undefined
      ? `${grouped(loaded)} loaded, and there are more`
      : `${grouped(loaded)} loaded of ${grouped(total)}`
  const order = source.order === 'falling' ? 'newest first' : 'oldest first'
  return html`<p class="soft loaded">
    <span role="status">${searched}${known}</span>, ${order}
    ${isWhole ? nothing : html`<button class="quiet" @click=${loadAll}>${isLoadingAll ? 'Stop loading' : 'Load all'}</button>`}
  </p>`
}

function rowsView(view: View): Drawn {
  const { list, opened, key, scrolled } = view
  const { shown, from, to, active, isFresh, isWhole } = list
  if (isFresh)
    return html`<div class="bones" aria-hidden="true">${[1, 2, 3, 4, 5].map(() => html`<p class="bone">&nbsp;</p>`)}</div>`
  if (shown.length === 0 && isWhole) return html`<p class="empty soft">${emptyWords(view)}</p>`
  return html`<div
    class="grid"
    role="grid"
    tabindex="0"
    aria-label="Tasks"
    aria-rowcount=${isWhole ? shown.length + 1 : -1}
    aria-activedescendant=${active >= from && active < to ? `row-${active}` : nothing}
    @keydown=${key}
    @scroll=${scrolled}
    @pointerdown=${pressed}
    @click=${(event: MouseEvent) => clicked(event, view)}
  >
    <div role="rowgroup" class="top">
      <div role="row" class="row head" aria-rowindex="1">
        ${COLUMNS.map((name) => html`<span role="columnheader" class=${name.toLowerCase()}>${name}</span>`)}
      </div>
    </div>
    <div class="space" role="presentation">
      <div class="rows" role="rowgroup">
        ${repeat(
          shown.slice(from, to),
          ({ taskId }) => taskId,
          (task, i) => rowView(view, task, from + i, opened?.taskId === task.taskId),
        )}
      </div>
    </div>
  </div>`
}

function emptyWords({ list }: View): string {
  const { status, origin, search } = list
  if (search.text || search.method) return 'No task fits the search.'
  if (status === 'EXHAUSTED')
    return 'No dead letters. Tasks that were given up show here, until they are redriven or deleted.'
  const which = status ? STATUSES[status][0] : ''
  return `No task ${which ? `is ${which} ` : ''}${origin ? `for ${harmless(origin)} ` : ''}here. A call that failed and is tried again, or that was enqueued, shows as a task.`
}

/** The row that was pressed, as it was then: a list that is looked at again while the button is down moves its rows, and a click is not lost, nor another's. */
let press: { readonly taskId: string | undefined; readonly y: number } | undefined

const taskIn = ({ target }: Event): string | undefined =>
  (target as Element).closest<HTMLElement>('.rows .row')?.dataset.task

const pressed = (event: PointerEvent): void => {
  press = { taskId: taskIn(event), y: event.clientY }
}

/** A click without a press, as of a program, is at the row that it names; one that was drawn away from its row is none. */
function clicked(event: MouseEvent, { open }: View): void {
  const { taskId, y } = (event.detail > 0 && press) || { taskId: taskIn(event), y: event.clientY }
  press = undefined
  if (taskId && Math.abs(event.clientY - y) < STRAY) open(taskId)
}

function rowView({ now, list, overview }: View, task: InspectorTask, index: number, isOpen: boolean): Drawn {
  const { status, method, targetUrl, attemptNumber, createdAt, taskId } = task
  const isActive = index === list.active
  const next = harmless(nextOf(task, laneOf(task, overview?.origins), now))
  return html`<div
    role="row"
    id="row-${index}"
    class="row ${isActive ? 'active' : ''}"
    aria-rowindex=${index + 2}
    aria-selected=${isOpen}
    data-task=${taskId}
  >
    <span role="gridcell" class="status">${mark(STATUSES[status])}</span>
    <span role="gridcell" class="method">${harmless(method)}</span>
    <span role="gridcell" class="url" title=${harmless(targetUrl)}>${urlOf(targetUrl, true)}</span>
    <span role="gridcell" class="attempt"><span class="label soft">attempt </span>${attemptNumber}</span>
    <span role="gridcell" class="next" title=${next}>${next}</span>
    <span role="gridcell" class="age">${seconds(Math.max(0, now - createdAt))}</span>
  </div>`
}
