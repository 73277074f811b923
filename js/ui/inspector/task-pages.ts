/**
 * The tasks of one list, as far as they are loaded: page after page by the source's cursors. A page is asked for again when its tasks may have
 * changed, so that following a list of 100,000 costs no more than the part in view.
 */

import type { InspectorPage, InspectorQuery, InspectorTask } from './source.ts'

interface Loaded {
  /** The source's word for where the page begins. Absent: at the beginning. */
  cursor: string | undefined
  readonly limit: number
  tasks: readonly InspectorTask[]
  /** Where the next page begins. Absent: this was the last. */
  next: string | undefined
}

export type Ask = (query: InspectorQuery) => Promise<InspectorPage>

const PAGE = 200
const MOST = 1_000
/** Pages that are asked for to find where the known ones go on. */
const TRIES = 5

export class TaskPages {
  readonly #ask: Ask
  readonly #filter: Omit<InspectorQuery, 'limit' | 'cursor'>
  #pages: Loaded[] = []
  /** The page of each task. */
  readonly #pageOf = new Map<string, Loaded>()
  #flat: readonly InspectorTask[] | undefined
  #work: Promise<unknown> = Promise.resolve()

  constructor(ask: Ask, filter: Omit<InspectorQuery, 'limit' | 'cursor'>) {
    this.#ask = ask
    this.#filter = filter
  }

  /** In the order of the source. The same array until something is loaded. */
  get tasks(): readonly InspectorTask[] {
    this.#flat ??= this.#pages.flatMap((page) => page.tasks)
    return this.#flat
  }

  /** Nothing was asked for so far. */
  get isFresh(): boolean {
    return this.#pages.length === 0
  }

  /** All that the source has are loaded. */
  get isWhole(): boolean {
    const last = this.#pages.at(-1)
    return last !== undefined && last.next === undefined
  }

  /** Loads the next page. `many`: the largest there is. */
  more(many = false): Promise<void> {
    return this.#queued(async () => {
      const last = this.#pages.at(-1)
      if (last && last.next === undefined) return
      this.#pages.push(await this.#load(last?.next, many ? MOST : PAGE))
    })
  }

  /**
   * Asks again for the pages of the rows from `from` up to `to`, and for the last one where it is the end: new tasks come there. Gives the tasks that
   * are not as they were, with what they were; a new one was undefined.
   */
  refresh(from: number, to: number): Promise<readonly (readonly [InspectorTask | undefined, InspectorTask])[]> {
    return this.#queued(async () => {
      const changed: [InspectorTask | undefined, InspectorTask][] = []
      let at = 0
      for (const page of [...this.#pages]) {
        const begin = at
        at += page.tasks.length
        const isInView = begin <= to && at >= from
        if (!isInView && page.next !== undefined) continue
        const before = new Map(page.tasks.map((task) => [task.taskId, task]))
        for (const task of await this.#renew(page)) {
          const was = before.get(task.taskId)
          if (was?.status !== task.status || was.attemptNumber !== task.attemptNumber) changed.push([was, task])
        }
      }
      return changed
    })
  }

  /** One at a time: each goes on from what the one before has loaded. */
  #queued<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#work.then(work)
    this.#work = next.catch(() => {}) // told to who asked for it
    return next
  }

  async #load(cursor: string | undefined, limit: number): Promise<Loaded> {
    const found = await this.#asked(cursor, limit)
    const page: Loaded = { cursor, limit, tasks: [], next: found.cursor }
    this.#put(
      page,
      found.tasks.filter(({ taskId }) => !this.#pageOf.has(taskId)),
    )
    return page
  }

  #asked(cursor: string | undefined, limit: number): Promise<InspectorPage> {
    return this.#ask({ ...this.#filter, limit, ...(cursor !== undefined && { cursor }) })
  }

  #put(page: Loaded, tasks: readonly InspectorTask[]): void {
    for (const { taskId } of page.tasks) this.#pageOf.delete(taskId)
    page.tasks = tasks
    for (const { taskId } of tasks) this.#pageOf.set(taskId, page)
    this.#flat = undefined
  }

  /**
   * Tasks that have left the page let others move up into it, which are known to the next one: it ends where that begins. New tasks push others
   * out of it: those are looked for until the known ones are met.
   */
  async #renew(page: Loaded): Promise<readonly InspectorTask[]> {
    const following = this.#pages[this.#pages.indexOf(page) + 1]
    const met = (id: string): boolean => ![undefined, page].includes(this.#pageOf.get(id))
    const fresh: Loaded[] = []
    let cursor = page.cursor
    for (let tries = 0; tries <= TRIES; tries++) {
      const limit = tries === 0 ? page.limit : MOST
      const found = await this.#asked(cursor, limit)
      const end = found.tasks.findIndex(({ taskId }) => met(taskId))
      const isMet = end >= 0 || (following !== undefined && found.cursor === following.cursor)
      const next = isMet ? following?.cursor : found.cursor
      fresh.push({ cursor, limit, tasks: end < 0 ? found.tasks : found.tasks.slice(0, end), next })
      if (isMet || !following || found.cursor === undefined) break
      cursor = found.cursor
    }
    this.#replace(page, fresh, following)
    return fresh.flatMap(({ tasks }) => tasks)
  }

  #replace(page: Loaded, fresh: readonly Loaded[], following: Loaded | undefined): void {
    const index = this.#pages.indexOf(page)
    this.#put(page, [])
    const isJoined = following !== undefined && fresh.at(-1)?.next === following.cursor
    // too far from the known ones: those are loaded again when they are looked at
    if (following && !isJoined) for (const dropped of this.#pages.splice(index + 1)) this.#put(dropped, [])
    const kept = fresh.filter(({ tasks }, i) => tasks.length > 0 || (i === fresh.length - 1 && !isJoined))
    const [first = following] = kept
    if (first) first.cursor = page.cursor
    this.#pages.splice(index, 1, ...kept)
    for (const each of kept) this.#put(each, each.tasks)
  }
}
