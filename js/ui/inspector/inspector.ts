/**
 * The inside of `<redrive-inspector>`: it keeps what is being looked at and asks the source; the `*-view.ts` beside it draw that.
 * Everything it shows is text, and no body or credential reaches it. Loaded by the first element that is used.
 */

import { html, nothing, type TemplateResult } from 'lit'
import type { RetryQueue } from 'redrive'
import { systemClock } from 'redrive/internal'
import { Acts } from './acts.ts'
import { changeOf, changesOf } from './changes.ts'
import { dialogView } from './dialog-view.ts'
import { EventLog } from './event-log.ts'
import { Follow } from './follow.ts'
import { History } from './history.ts'
import { listView } from './list-view.ts'
import { logView } from './log-view.ts'
import { numbersView, overviewView, warningsView } from './overview-view.ts'
import { queueSource } from './queue-source.ts'
import { serviceSource } from './service-source.ts'
import type { InspectorOverview, InspectorSource } from './source.ts'
import { failureView, headView, nothingView } from './state-view.ts'
import { inspectorStyles } from './styles.ts'
import { type ListFilter, TaskList, type Viewport } from './task-list.ts'
import { taskStyles } from './task-styles.ts'
import { taskView } from './task-view.ts'
import type { Asking, Opened, Tab, View } from './view.ts'

const TABS: readonly (readonly [Tab, string])[] = [
  ['overview', 'Overview'],
  ['tasks', 'Tasks'],
  ['events', 'Events'],
]
/** A list that is narrower has two lines a row, and three; its style sheet says the same. */
const NARROW = 900
const NARROWEST = 480
const rowHeightOf = ({ offsetWidth }: HTMLElement): number =>
  offsetWidth < NARROWEST ? 66 : offsetWidth < NARROW ? 52 : 30
const WIDE = 1_000

/** The element, as far as it is needed here. */
export interface InspectorHost extends HTMLElement {
  readonly queue?: RetryQueue | undefined
  readonly source?: InspectorSource | undefined
  readonly src?: string | null | undefined
  readonly readonly?: boolean | undefined
  token?: string | undefined
  readonly renderRoot: HTMLElement | DocumentFragment
  readonly updateComplete: Promise<boolean>
  requestUpdate(): void
}

export class Inspector {
  readonly #host: InspectorHost
  #source: InspectorSource | undefined
  #principal: InspectorSource['principal']
  #overview: InspectorOverview | undefined
  #history = new History()
  /** Failed attempts among the events of the source. */
  #failed = 0
  #events = new EventLog()
  #tab: Tab = 'overview'
  #opened: Opened | undefined
  #asking: Asking | undefined
  #width = 0
  #unlisten: (() => void)[] = []
  readonly #changed = (): void => this.#host.requestUpdate()
  #acts = new Acts(this.#changed)
  readonly #list = new TaskList({ changed: this.#changed, failed: () => this.#follow.soon() })
  readonly #following = (): Follow =>
    new Follow({
      look: () => this.#look(),
      changed: this.#changed,
      isHidden: () => document.visibilityState === 'hidden',
    })
  #follow = this.#following()
  readonly #sizes =
    globalThis.ResizeObserver && new ResizeObserver(([entry]) => this.#resized(entry?.contentRect.width ?? 0))

  constructor(host: InspectorHost) {
    this.#host = host
    const { adoptedStyleSheets } = host.renderRoot as ShadowRoot
    for (const { styleSheet } of [inspectorStyles, taskStyles]) if (styleSheet) adoptedStyleSheets.push(styleSheet)
  }

  connected(): void {
    this.#sizes?.observe(this.#host)
    document.addEventListener('visibilitychange', this.#seen)
    this.#listen()
  }

  disconnected(): void {
    this.#sizes?.disconnect()
    document.removeEventListener('visibilitychange', this.#seen)
    this.#unlistened()
  }

  readonly #seen = (): void => {
    if (document.visibilityState === 'visible' && this.#source) void this.#follow.look()
  }

  /** Its source shows another user's tasks than when it began. Asked before each render, so that none shows what the one before had. */
  get isOutdated(): boolean {
    return this.#source?.principal !== this.#principal
  }

  /** Another source, or another user: nothing of the one before is kept. */
  begin(): void {
    const { queue, source, src, token } = this.#host
    this.#unlistened()
    this.#follow = this.#following()
    this.#source =
      source ?? (queue ? queueSource(queue) : typeof src === 'string' ? serviceSource({ url: src }) : undefined)
    if (token !== undefined) this.#source?.authorize?.(token)
    this.#principal = this.#source?.principal
    this.#overview = this.#opened = this.#asking = undefined
    this.#history = new History()
    this.#failed = 0
    this.#events = new EventLog()
    this.#acts.end()
    this.#acts = new Acts(this.#changed)
    this.#list.begin(this.#source)
    this.#toTop()
    if (this.#host.isConnected) this.#listen()
  }

  #listen(): void {
    const source = this.#source
    if (!source || this.#unlisten.length > 0) return
    const unwatch = source.watch?.(() => this.#follow.soon())
    const unlisten = source.listen?.((event) => {
      this.#events.add(event)
      if (event.kind === 'retry' || event.kind === 'exhausted') this.#failed++
      this.#follow.soon()
    })
    this.#unlisten = [() => this.#follow.stop(), unwatch, unlisten].filter((end) => end !== undefined)
    this.#follow.start()
  }

  #unlistened(): void {
    for (const end of this.#unlisten.splice(0)) end()
    this.#list.isLoadingAll = false
  }

  authorize(token: string): void {
    this.#source?.authorize?.(token)
    if (this.#source && this.#unlisten.length > 0) void this.#follow.look()
  }

  /** Everything in view, asked for anew. */
  async #look(): Promise<void> {
    const source = this.#source
    if (!source) return
    const now = systemClock.now()
    const before = this.#overview
    const [overview, changed, view] = await Promise.all([
      source.overview(),
      this.#tab === 'tasks' ? this.#list.look() : [],
      this.#opened && source.task(this.#opened.taskId),
    ])
    if (source !== this.#source || this.isOutdated) return // another one meanwhile
    this.#overview = overview
    this.#host.dispatchEvent(new CustomEvent('redrive-look', { detail: overview }))
    const { succeeded, exhausted, depth, inFlight } = overview
    const failed = source.listen ? this.#failed : exhausted
    this.#history.look(now, { succeeded, failed, waiting: depth - inFlight })
    if (this.#opened) this.#show(this.#opened.taskId, view)
    if (source.listen || !before) return
    for (const event of changesOf(before, overview, now)) this.#events.add(event)
    for (const [was, task] of changed) this.#events.add(changeOf(was, task, now))
  }

  #toTop(): void {
    const grid = this.#grid
    if (grid) grid.scrollTop = 0
  }

  #show(taskId: string, view: Opened['view']): void {
    if (this.#opened?.taskId !== taskId) return
    const kept = view ?? this.#opened.view
    this.#opened = { taskId, ...(kept && { view: kept }), ...(!view && { isGone: true }) }
  }

  readonly #commands = {
    show: (tab: Tab): void => {
      this.#tab = tab
      void this.#follow.look()
      this.#changed()
    },
    filter: (change: Partial<ListFilter>): void => {
      this.#tab = 'tasks'
      if (this.#list.narrow(change)) this.#toTop()
      if (this.#list.isFresh) void this.#follow.look()
      this.#changed()
    },
    open: (taskId: string): void => {
      this.#tab = 'tasks'
      if (this.#opened?.taskId !== taskId) this.#opened = { taskId }
      this.#list.goTo(taskId)
      this.#changed()
      void this.#follow.look()
      void this.#host.updateComplete.then(() => this.#focusTask())
    },
    close: (): void => {
      this.#opened = undefined
      this.#changed()
      void this.#host.updateComplete.then(() => {
        const viewport = this.#viewportNow()
        if (viewport) this.#list.move(0, viewport) // a list that was not drawn has forgotten where it was
        this.#grid?.focus()
      })
    },
    loadAll: (): void => void this.#list.loadAll(),
    ask: (asking: Asking | undefined): void => {
      this.#asking = asking
      this.#changed()
    },
    act: (key: string, act: Parameters<View['act']>[1]): void => void this.#act(key, act),
    key: (event: KeyboardEvent): void => this.#key(event),
    scrolled: (): void => this.#scrolled(),
    authorize: (token: string): void => {
      this.#host.token = token
    },
    lookNow: (): void => void this.#follow.look(),
  }

  async #act(key: string, act: Parameters<View['act']>[1]): Promise<void> {
    const source = this.#source
    if (!source || this.#host.readonly) return
    const begin = typeof act === 'function' ? act : () => act
    await this.#acts.run(key, begin, (act) => source.act(act))
    if (source !== this.#source) return
    await this.#follow.look()
    await this.#host.updateComplete
    // the button that was pressed may be gone with what it was about
    if (this.#opened && document.activeElement === document.body) this.#focusTask()
  }

  #focusTask(): void {
    this.#root.querySelector<HTMLElement>('.task h2')?.focus()
  }

  get #root(): ParentNode {
    return this.#host.renderRoot
  }

  get #grid(): HTMLElement | null {
    return this.#root.querySelector('.grid')
  }

  #viewportNow(): Viewport | undefined {
    const grid = this.#grid
    return grid ? this.#viewportOf(grid) : undefined
  }

  /** The rows' part of the grid: its head stays on top of them. */
  #viewportOf(grid: HTMLElement): Viewport {
    const head = grid.querySelector<HTMLElement>('.top')?.offsetHeight ?? 0
    return {
      height: grid.clientHeight - head,
      rowHeight: rowHeightOf(grid),
      get scrollTop() {
        return grid.scrollTop
      },
      set scrollTop(top) {
        grid.scrollTop = top
      },
    }
  }

  #scrolled(): void {
    const viewport = this.#viewportNow()
    if (viewport) this.#list.see(viewport)
  }

  #key(event: KeyboardEvent): void {
    const viewport = this.#viewportNow()
    if (!viewport) return
    const page = Math.max(1, Math.floor(viewport.height / viewport.rowHeight) - 1)
    const step = new Map([
      ['ArrowDown', 1],
      ['ArrowUp', -1],
      ['PageDown', page],
      ['PageUp', -page],
      ['Home', Number.NEGATIVE_INFINITY],
      ['End', Number.POSITIVE_INFINITY],
    ]).get(event.key)
    const task = this.#list.tasks[this.#list.active]
    if (step !== undefined) this.#list.move(step, viewport)
    else if (event.key === 'Enter' && task) this.#commands.open(task.taskId)
    else if (event.key === 'Escape' && this.#opened) this.#commands.close()
    else return
    event.preventDefault()
    this.#changed()
  }

  #resized(width: number): void {
    if (Math.abs(width - this.#width) < 1) return
    this.#width = width
    this.#changed()
  }

  render(): TemplateResult {
    if (!this.#source) return nothingView()
    const view = this.#view(this.#source)
    return html`${headView(view)} ${failureView(view)} ${view.failure && !view.overview ? nothing : this.#body(view)} ${dialogView(view)}`
  }

  #body(view: View): TemplateResult {
    const stale = view.failure ? 'stale' : ''
    return html`${warningsView(this.#overview)}
      <div class=${stale}>${numbersView(view)}</div>
      <div role="tablist" aria-label="What is shown" @keydown=${this.#tabKey}>
        ${TABS.map(
          ([tab, label]) =>
            html`<button
              role="tab"
              id="tab-${tab}"
              aria-controls="panel"
              aria-selected=${tab === this.#tab}
              tabindex=${tab === this.#tab ? 0 : -1}
              @click=${() => this.#commands.show(tab)}
            >
              ${label}
            </button>`,
        )}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby="tab-${this.#tab}" class=${stale}>${this.#panel(view)}</div>`
  }

  #panel(view: View): unknown {
    if (this.#tab === 'overview') return overviewView(view)
    if (this.#tab === 'events') return logView(view, () => this.#toggleLog())
    return html`<div class="split ${this.#opened ? 'opened' : ''}">
      <div class="list">${listView(view)}</div>
      ${taskView(view)}
    </div>`
  }

  #toggleLog(): void {
    this.#events.toggle()
    this.#changed()
  }

  readonly #tabKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const at = TABS.findIndex(([tab]) => tab === this.#tab) + step
    const [tab] = TABS[(at + TABS.length) % TABS.length] ?? []
    if (!tab) return
    this.#commands.show(tab)
    this.#root.querySelector<HTMLElement>(`#tab-${tab}`)?.focus()
  }

  #view(source: InspectorSource): View {
    const list = this.#list
    return {
      source,
      isReadonly: this.#host.readonly ?? false,
      now: systemClock.now(),
      overview: this.#overview,
      failure: this.#follow.failure,
      history: this.#history,
      acts: this.#acts,
      events: this.#events,
      tab: this.#tab,
      list: {
        ...list.filter,
        ...list.window,
        shown: list.tasks,
        loaded: list.loaded,
        isWhole: list.isWhole,
        isFresh: list.isFresh,
        isLoadingAll: list.isLoadingAll,
        active: list.active,
      },
      opened: this.#opened,
      asking: this.#asking,
      width: Math.max(240, (this.#width >= WIDE ? this.#width * 0.5 : this.#width) - 66),
      ...this.#commands,
    }
  }

  /** Places are set here and not in templates: a strict CSP takes no style attribute. */
  updated(): void {
    const grid = this.#grid
    if (grid) {
      const height = rowHeightOf(grid)
      grid.style.setProperty('--row', `${height}px`)
      const space = grid.querySelector<HTMLElement>('.space')
      const rows = grid.querySelector<HTMLElement>('.rows')
      if (space) space.style.height = `${this.#list.tasks.length * height}px`
      if (rows) rows.style.transform = `translateY(${this.#list.window.from * height}px)`
      this.#scrolled()
      if (!this.#follow.failure) void this.#list.loadOn()
    }
    const dialog = this.#root.querySelector('dialog')
    if (dialog && !dialog.open) dialog.showModal()
  }
}
