/** Tasks in memory that can be asked for by id: waiting, running, or ended and not yet past their retention. */

import type { RetentionOptions } from '../options/queue-options.ts'
import type { Task } from './task.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor?: string
}

/** Tasks in the order they ended. */
class Ended {
  readonly #tasks = new Set<Task>()
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
  }

  delete(task: Task): void {
    this.#tasks.delete(task)
    if (task === this.#oldest) this.#oldest = undefined
  }

  [Symbol.iterator](): Iterator<Task> {
    return this.#tasks.values()
  }
}

/**
 * Dead letters whose caller has been told the outcome, as calls that wait for an answer are. Nothing accepted would be lost
 * with one, so they take no room from new tasks, and only so many are kept.
 */
const MOST_TOLD = 1_000

const bytesOf = ({ call }: Task): number => call?.bytes ?? 0

export class Registry {
  readonly #retention: Required<RetentionOptions>
  readonly #onTrim: (count: number) => void
  // insertion order is the order of ids (UUIDv7), which is what pages go by
  readonly #all = new Map<string, Task>()
  /** The youngest task with a key, of each principal: one user's key says nothing about another's (S16). */
  readonly #byKey = new Map<string | null, Map<string, Task>>()
  readonly #ended = new Ended()
  readonly #dead = new Ended()
  readonly #told = new Ended()
  /** Bodies of `#dead`. */
  #deadBytes = 0

  /** `onTrim`: dead letters were purged because there were too many, or because they were too old. */
  constructor(retention: Required<RetentionOptions>, onTrim: (count: number) => void) {
    this.#retention = retention
    this.#onTrim = onTrim
  }

  /** Counts dead letters; `of`: those of one principal. */
  deadLetters(of?: string | null): number {
    if (of === undefined) return this.#dead.size + this.#told.size
    let count = 0
    for (const { principal } of this.#letters()) if (principal === of) count++
    return count
  }

  /** The room that dead letters take from new tasks. `but`: without this one, which is to go back into the queue. */
  roomTaken(but?: Task): { readonly count: number; readonly bytes: number } {
    const isIn = but !== undefined && this.#dead.has(but)
    return { count: this.#dead.size - Number(isIn), bytes: this.#deadBytes - (isIn ? bytesOf(but) : 0) }
  }

  add(task: Task): void {
    this.#all.set(task.taskId, task)
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

  /** Notes that a task has ended. 'dead': it is kept as a dead letter; 'told': as one whose caller has the outcome. */
  end(task: Task, as: 'ended' | 'dead' | 'told', now: number): void {
    task.endedAt = now
    ;({ ended: this.#ended, dead: this.#dead, told: this.#told })[as].add(task)
    if (as === 'dead') this.#deadBytes += bytesOf(task)
    this.#expire(now)
    const { maxTerminal, maxDeadLetters } = this.#retention
    while (this.#ended.size > maxTerminal) this.#drop(this.#ended, this.#ended.oldest)
    let trimmed = 0
    for (; this.#told.size > MOST_TOLD; trimmed++) this.#drop(this.#told, this.#told.oldest)
    for (; this.deadLetters() > maxDeadLetters; trimmed++) {
      const [told, dead] = [this.#told.oldest, this.#dead.oldest]
      const isTold = !dead || (told !== undefined && told.endedAt < dead.endedAt)
      this.#drop(isTold ? this.#told : this.#dead, isTold ? told : dead)
    }
    if (trimmed > 0) this.#onTrim(trimmed)
  }

  /** Takes a task off the dead letters: it goes back into the queue. */
  revive(task: Task): void {
    this.#forget(this.#dead.has(task) ? this.#dead : this.#told, task)
  }

  dead(taskId: string, now: number): Task | undefined {
    const task = this.get(taskId, now)
    return task && (this.#dead.has(task) || this.#told.has(task)) ? task : undefined
  }

  /** Deletes these dead letters. */
  purge(tasks: readonly Task[]): number {
    for (const task of tasks) this.#drop(this.#dead.has(task) ? this.#dead : this.#told, task)
    return tasks.length
  }

  page(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    return page(this.#all.values(), filter, options)
  }

  allDead(now: number): readonly Task[] {
    this.#expire(now)
    return [...this.#letters()].sort((a, b) => a.endedAt - b.endedAt)
  }

  deadPage(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    const byId = [...this.#letters()].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
    return page(byId, filter, options)
  }

  #expire(now: number): void {
    const { terminalMs, deadLetterMs } = this.#retention
    this.#dropOlder(this.#ended, now - terminalMs)
    const before = now - deadLetterMs
    const purged = this.#dropOlder(this.#told, before) + this.#dropOlder(this.#dead, before)
    if (purged > 0) this.#onTrim(purged)
  }

  #dropOlder(tasks: Ended, than: number): number {
    const { size } = tasks
    for (let task = tasks.oldest; task && task.endedAt < than; task = tasks.oldest) this.#drop(tasks, task)
    return size - tasks.size
  }

  *#letters(): Iterable<Task> {
    yield* this.#told
    yield* this.#dead
  }

  #forget(tasks: Ended, task: Task): void {
    tasks.delete(task)
    if (tasks === this.#dead) this.#deadBytes -= bytesOf(task)
  }

  #drop(tasks: Ended, task: Task | undefined): void {
    if (!task) return
    this.#forget(tasks, task)
    this.#all.delete(task.taskId)
    const own = this.#byKey.get(task.principal)
    if (task.key !== null && own?.get(task.key) === task) own.delete(task.key)
    if (own?.size === 0) this.#byKey.delete(task.principal)
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
