/** Tasks in memory that can be asked for by id: waiting, running, or ended and not yet past their retention. */

import type { RetentionOptions } from '../options/retention.ts'
import { ById } from './by-id.ts'
import type { Task } from './task.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor?: string
}

/** Tasks in the order they ended. */
class Ended {
  readonly #tasks = new Set<Task>()
  /** Their bodies, in bytes: dead letters keep them. */
  bytes = 0
  // kept, since a new one would step over every member deleted before the first that is left
  #younger = this.#tasks.values()
  #oldest: Task | undefined

  get size(): number {
    return this.#tasks.size
  }

  get oldest(): Task | undefined {
    if (!this.#oldest && this.#tasks.size > 0) {
      this.#oldest = this.#younger.next().value
      // one that came to its end stays there, whatever is added later
      if (!this.#oldest) {
        this.#younger = this.#tasks.values()
        this.#oldest = this.#younger.next().value
      }
    }
    return this.#oldest
  }

  has(task: Task): boolean {
    return this.#tasks.has(task)
  }

  add(task: Task): void {
    this.#tasks.add(task)
    this.bytes += bytesOf(task)
  }

  delete(task: Task): void {
    if (!this.#tasks.delete(task)) return
    this.bytes -= bytesOf(task)
    if (task === this.#oldest) this.#oldest = undefined
  }

  [Symbol.iterator](): Iterator<Task> {
    return this.#tasks.values()
  }
}

/**
 * Dead letters whose caller has the outcome, as those of awaited calls. Nothing accepted would be lost
 * with one, so they take no room from new tasks, and only so many are kept.
 */
const MOST_TOLD = 1_000

const bytesOf = ({ call }: Task): number => call?.bytes ?? 0

export class Registry {
  readonly #retention: Required<RetentionOptions>
  readonly #onTrim: (trimmed: readonly Task[], why?: string) => void
  // the order of ids is what pages go by
  readonly #all = new ById<Task>()
  /** The youngest task with a key, of each principal: one user's key says nothing about another's (S16). */
  readonly #byKey = new Map<string | null, Map<string, Task>>()
  readonly #ended = new Ended()
  /** All dead letters. */
  readonly #dead = new Ended()
  /** Those of them that take no room. */
  readonly #told = new Ended()

  /** `onTrim`: dead letters were purged because there were too many, or because they were too old, unless it says `why`. */
  constructor(retention: Required<RetentionOptions>, onTrim: (trimmed: readonly Task[], why?: string) => void) {
    this.#retention = retention
    this.#onTrim = onTrim
  }

  /** Counts dead letters; `of`: those of one principal. */
  deadLetters(now: number, of?: string | null): number {
    this.#expire(now)
    if (of === undefined) return this.#dead.size
    let count = 0
    for (const { principal } of this.#dead) if (principal === of) count++
    return count
  }

  /** The room that dead letters take from new tasks. `but`: without this one, which is to go back into the queue. */
  roomTaken(but?: Task): { readonly count: number; readonly bytes: number } {
    const dead = this.#dead
    const told = this.#told
    const isIn = but !== undefined && dead.has(but) && !told.has(but)
    return { count: dead.size - told.size - Number(isIn), bytes: dead.bytes - told.bytes - (isIn ? bytesOf(but) : 0) }
  }

  add(task: Task): void {
    this.#all.add(task)
    if (task.key === null) return
    const { principal, key } = task
    const own = this.#byKey.get(principal) ?? new Map<string, Task>()
    this.#byKey.set(principal, own.set(key, task))
  }

  /** The task that has a key: waiting, running, or ended and not past its retention. One that was cancelled does not keep its key. */
  withKey(principal: string | null, key: string, now: number): Task | undefined {
    this.#expire(now)
    const task = this.#byKey.get(principal)?.get(key)
    return task?.status === 'CANCELLED' ? undefined : task
  }

  get(taskId: string, now: number): Task | undefined {
    this.#expire(now)
    return this.#all.get(taskId)
  }

  /** Notes that a task has ended. 'dead': it is kept as a dead letter; `told`: as one whose caller has the outcome. */
  end(task: Task, as: 'ended' | 'dead' | 'told', now: number): void {
    task.endedAt = now
    const tasks = as === 'ended' ? this.#ended : this.#dead
    tasks.add(task)
    if (as === 'told') this.#told.add(task)
    this.#expire(now)
    const { maxTerminal, maxDeadLetters } = this.#retention
    this.#trim(this.#ended, maxTerminal)
    this.#onTrim(this.#trim(this.#told, MOST_TOLD), `over ${MOST_TOLD} whose callers have the failure`)
    this.#onTrim(this.#trim(this.#dead, maxDeadLetters))
  }

  /** Takes a task off the dead letters: it goes back into the queue. */
  revive(task: Task): void {
    this.#dead.delete(task)
    this.#told.delete(task)
  }

  dead(taskId: string, now: number): Task | undefined {
    const task = this.get(taskId, now)
    return task && this.#dead.has(task) ? task : undefined
  }

  /** Deletes these dead letters. */
  purge(tasks: readonly Task[]): number {
    for (const task of tasks) this.#drop(task)
    return tasks.length
  }

  /** Deletes all tasks of a principal: none of them waits any more. */
  purgeOf(principal: string | null): void {
    for (const task of [...this.#all]) if (task.principal === principal) this.#drop(task)
  }

  page(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    return page(this.#all, filter, options)
  }

  allDead(now: number): readonly Task[] {
    this.#expire(now)
    return [...this.#dead]
  }

  deadPage(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    const byId = [...this.#dead].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
    return page(byId, filter, options)
  }

  #expire(now: number): void {
    const { terminalMs, deadLetterMs } = this.#retention
    this.#trim(this.#ended, Number.POSITIVE_INFINITY, now - terminalMs)
    this.#onTrim(this.#trim(this.#dead, Number.POSITIVE_INFINITY, now - deadLetterMs))
  }

  /** Deletes the oldest while there are more than `most`, or that ended before `since`; gives them. */
  #trim(tasks: Ended, most: number, since: number = Number.NEGATIVE_INFINITY): Task[] {
    const trimmed: Task[] = []
    for (let task = tasks.oldest; task && (tasks.size > most || task.endedAt < since); task = tasks.oldest) {
      tasks.delete(task)
      trimmed.push(task)
      // one that succeeded is in none of the others
      if (tasks !== this.#ended) this.revive(task)
      this.#forget(task)
    }
    return trimmed
  }

  #drop(task: Task): void {
    this.#ended.delete(task)
    this.revive(task)
    this.#forget(task)
  }

  #forget(task: Task): void {
    const { key, principal } = task
    this.#all.delete(task)
    if (key === null) return
    const own = this.#byKey.get(principal)
    if (own?.get(key) === task) own.delete(key)
    if (own?.size === 0) this.#byKey.delete(principal)
  }
}

/** Tasks after `cursor`, an id; ids rise, so a task that is gone by now does not disturb the order. */
function page(
  tasks: Iterable<Task>,
  filter: (task: Task) => boolean,
  { limit = 100, cursor = '' }: { limit?: number; cursor?: string },
): Page<Task> {
  const items: Task[] = []
  for (const task of tasks) {
    if (task.taskId <= cursor || !filter(task)) continue
    if (items.length === limit) return { items, cursor: items[items.length - 1]?.taskId ?? '' }
    items.push(task)
  }
  return { items }
}
