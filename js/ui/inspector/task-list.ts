/** The list that is looked at: its filter, what of it is loaded, which rows are in view, and the row that the keyboard is at. Knows nothing of how it is drawn. */

import type { TaskStatus } from 'redrive'
import { systemClock } from 'redrive/internal'
import { type ListWindow, scrolledTo, windowOf } from './list-window.ts'
import { matcher, type Search } from './search.ts'
import type { InspectorSource, InspectorTask } from './source.ts'
import { TaskPages } from './task-pages.ts'

export interface ListFilter {
  readonly status: TaskStatus | ''
  /** '': all. */
  readonly origin: string
  readonly search: Search
}

/** The part of the screen that shows rows. */
export interface Viewport {
  scrollTop: number
  readonly height: number
  readonly rowHeight: number
}

export interface ListPorts {
  readonly changed: () => void
  /** A page could not be had. The next look says why. */
  readonly failed: () => void
}

/** Rows before the end at which more are loaded. */
const AHEAD = 60
/** Rows that are drawn before it is known how many there is room for. */
const FIRST = 40

interface Shown {
  readonly of: readonly InspectorTask[]
  readonly search: Search
  readonly tasks: readonly InspectorTask[]
}

export class TaskList {
  filter: ListFilter = { status: '', origin: '', search: { text: '', method: '' } }
  active = 0
  isLoadingAll = false
  readonly #ports: ListPorts
  #source: InspectorSource | undefined
  #pages: TaskPages | undefined
  #shown: Shown | undefined
  #window: ListWindow = { from: 0, to: FIRST }
  #isLoadingMore = false

  constructor(ports: ListPorts) {
    this.#ports = ports
  }

  get isFresh(): boolean {
    return this.#pages?.isFresh ?? true
  }

  get isWhole(): boolean {
    return this.#pages?.isWhole ?? false
  }

  get loaded(): number {
    return this.#pages?.tasks.length ?? 0
  }

  /** Those that fit, as far as they are loaded. */
  get tasks(): readonly InspectorTask[] {
    const of = this.#pages?.tasks ?? []
    const { search } = this.filter
    if (this.#shown?.of !== of || this.#shown.search !== search) {
      const fits = matcher(search)
      this.#shown = { of, search, tasks: fits ? of.filter(fits) : of }
      this.active = Math.max(0, Math.min(this.active, this.#shown.tasks.length - 1))
    }
    return this.#shown.tasks
  }

  get window(): ListWindow {
    const count = this.tasks.length
    return { from: Math.min(this.#window.from, count), to: Math.min(this.#window.to, count) }
  }

  /** From the beginning, with nothing loaded. */
  begin(source: InspectorSource | undefined): void {
    const { status, origin } = this.filter
    const only = { ...(status && { status }), ...(origin && { origin }) }
    this.#source = source
    this.#pages = source && new TaskPages((query) => source.list(query), only)
    this.#window = { from: 0, to: FIRST }
    this.active = 0
    this.isLoadingAll = false
  }

  /** Whether it has begun anew: the search alone goes over what is there. */
  narrow(change: Partial<ListFilter>): boolean {
    const { status, origin } = this.filter
    this.filter = { ...this.filter, ...change }
    this.active = 0
    const isOther = status !== this.filter.status || origin !== this.filter.origin
    if (isOther) this.begin(this.#source)
    return isOther
  }

  /** Asks for what is in view, and gives what has changed: see `TaskPages.refresh`. */
  async look(): Promise<Awaited<ReturnType<TaskPages['refresh']>>> {
    const pages = this.#pages
    if (!pages) return []
    if (!pages.isFresh) return pages.refresh(this.#window.from, this.#window.to)
    await pages.more()
    return []
  }

  /** The keyboard goes to the row of this task. */
  goTo(taskId: string): void {
    const index = this.tasks.findIndex((task) => task.taskId === taskId)
    if (index >= 0) this.active = index
  }

  /** Moves by so many rows, and scrolls where it must. */
  move(rows: number, viewport: Viewport): void {
    this.active = Math.max(0, Math.min(this.tasks.length - 1, this.active + rows))
    viewport.scrollTop = scrolledTo(this.active, viewport.scrollTop, viewport.height, viewport.rowHeight)
    this.see(viewport)
  }

  /** Draws other rows where others are in view. */
  see({ scrollTop, height, rowHeight }: Viewport): void {
    const next = windowOf(scrollTop, height, rowHeight, this.tasks.length)
    if (next.from === this.#window.from && next.to === this.#window.to) return
    this.#window = next
    this.#ports.changed()
  }

  /** Loads on where the end of what is loaded comes into view. What is searched for may be far: that is loaded when it is asked for. */
  async loadOn(): Promise<void> {
    const pages = this.#pages
    const { text, method } = this.filter.search
    if (!pages || pages.isFresh || pages.isWhole || this.#isLoadingMore || this.isLoadingAll || text || method) return
    if (this.#window.to + AHEAD < this.tasks.length) return
    this.#isLoadingMore = true
    await pages.more().catch(this.#ports.failed)
    this.#isLoadingMore = false
    this.#ports.changed()
  }

  /** Page after page, until all are here or it is asked again. */
  async loadAll(): Promise<void> {
    const pages = this.#pages
    this.isLoadingAll = !this.isLoadingAll
    this.#ports.changed()
    try {
      while (pages && pages === this.#pages && this.isLoadingAll && !pages.isWhole) {
        await pages.more(true)
        this.#ports.changed()
        // a source that answers at once would leave the page no time else
        await new Promise<void>((resolve) => systemClock.after(0, resolve))
      }
    } catch {
      this.#ports.failed()
    }
    if (pages === this.#pages) this.isLoadingAll = false
    this.#ports.changed()
  }
}
