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

export class Registry {
  readonly #retention: Required<RetentionOptions>
  readonly #onTrim: (count: number) => void
  // insertion order is the order of ids (UUIDv7), which is what pages go by
  readonly #all = new Map<string, Task>()
  /** The youngest task with a key, of each principal: one user's key says nothing about another's (S16). */
  readonly #byKey = new Map<string | null, Map<string, Task>>()
  readonly #ended = new Ended()
  readonly #dead = new Ended()

  /** `onTrim`: dead letters were purged because there were too many. */
  constructor(retention: Required<RetentionOptions>, onTrim: (count: number) => void) {
    this.#retention = retention
    this.#onTrim = onTrim
  }

  /** Counts dead letters; `of`: those of one principal. */
  deadLetters(of?: string | null): number {
    if (of === undefined) return this.#dead.size
    let count = 0
    for (const { principal } of this.#dead) if (principal === of) count++
    return count
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

  /** Notes that a task has ended; `dead`: it is kept as a dead letter. */
  end(task: Task, dead: boolean, now: number): void {
    task.endedAt = now
    ;(dead ? this.#dead : this.#ended).add(task)
    this.#expire(now)
    while (this.#ended.size > this.#retention.maxTerminal) this.#drop(this.#ended, this.#ended.oldest)
    let trimmed = 0
    for (; this.#dead.size > this.#retention.maxDeadLetters; trimmed++) this.#drop(this.#dead, this.#dead.oldest)
    if (trimmed > 0) this.#onTrim(trimmed)
  }

  /** Takes a task off the dead letters: it goes back into the queue. */
  revive(task: Task): void {
    this.#dead.delete(task)
  }

  dead(taskId: string, now: number): Task | undefined {
    const task = this.get(taskId, now)
    return task && this.#dead.has(task) ? task : undefined
  }

  /** Deletes these dead letters. */
  purge(tasks: readonly Task[]): number {
    for (const task of tasks) this.#drop(this.#dead, task)
    return tasks.length
  }

  page(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    return page(this.#all.values(), filter, options)
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
    this.#dropOlder(this.#ended, now - terminalMs)
    this.#dropOlder(this.#dead, now - deadLetterMs)
  }

  #dropOlder(tasks: Ended, than: number): void {
    for (let task = tasks.oldest; task && task.endedAt < than; task = tasks.oldest) this.#drop(tasks, task)
  }

  #drop(tasks: Ended, task: Task | undefined): void {
    if (!task) return
    tasks.delete(task)
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
