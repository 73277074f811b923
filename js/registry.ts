/** Every task that can be asked for by id: waiting, running, ended and not yet past its retention. */

import type { RetentionOptions } from './options.ts'
import type { Task } from './task.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor?: string
}

const MAX_PAGE = 1_000

export class Registry {
  readonly #retention: Required<RetentionOptions>
  readonly #onTrim: (count: number) => void
  // insertion order is the order of ids (UUIDv7), which is what pages go by
  readonly #all = new Map<string, Task>()
  readonly #ended = new Set<Task>()
  readonly #dead = new Set<Task>()

  /** `onTrim`: dead letters were purged because there were too many. */
  constructor(retention: Required<RetentionOptions>, onTrim: (count: number) => void) {
    this.#retention = retention
    this.#onTrim = onTrim
  }

  get deadLetters(): number {
    return this.#dead.size
  }

  add(task: Task): void {
    this.#all.set(task.taskId, task)
  }

  get(taskId: string, now: number): Task | undefined {
    this.#expire(now)
    return this.#all.get(taskId)
  }

  /** The task is terminal now; `dead`: it is kept as a dead letter. */
  end(task: Task, dead: boolean, now: number): void {
    task.endedAt = now
    ;(dead ? this.#dead : this.#ended).add(task)
    this.#expire(now)
    while (this.#ended.size > this.#retention.maxTerminal) this.#drop(this.#ended, first(this.#ended))
    let trimmed = 0
    for (; this.#dead.size > this.#retention.maxDeadLetters; trimmed++) this.#drop(this.#dead, first(this.#dead))
    if (trimmed > 0) this.#onTrim(trimmed)
  }

  /** It goes back into the queue. */
  revive(task: Task): void {
    this.#dead.delete(task)
  }

  dead(taskId: string, now: number): Task | undefined {
    const task = this.get(taskId, now)
    return task && this.#dead.has(task) ? task : undefined
  }

  /** Deletes one dead letter, or all. */
  purge(taskId: string | undefined, now: number): number {
    const doomed = taskId === undefined ? [...this.#dead] : [this.dead(taskId, now)]
    let purged = 0
    for (const task of doomed) {
      if (!task) continue
      this.#drop(this.#dead, task)
      purged++
    }
    return purged
  }

  page(filter: (task: Task) => boolean, options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    return page(this.#all.values(), filter, options)
  }

  allDead(now: number): readonly Task[] {
    this.#expire(now)
    return [...this.#dead]
  }

  deadPage(options: { limit?: number; cursor?: string }, now: number): Page<Task> {
    this.#expire(now)
    const byId = [...this.#dead].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
    return page(byId, () => true, options)
  }

  #expire(now: number): void {
    const { terminalMs, deadLetterMs } = this.#retention
    for (const [set, keepMs] of [[this.#ended, terminalMs] as const, [this.#dead, deadLetterMs] as const]) {
      for (const task of set) {
        if (task.endedAt + keepMs >= now) break
        this.#drop(set, task)
      }
    }
  }

  #drop(set: Set<Task>, task: Task | undefined): void {
    if (!task) return
    set.delete(task)
    this.#all.delete(task.taskId)
  }
}

function first(set: Set<Task>): Task | undefined {
  return set.values().next().value
}

/** Tasks after `cursor`, an id; ids rise, so a task that is gone by now does not disturb the order. */
function page(
  tasks: Iterable<Task>,
  filter: (task: Task) => boolean,
  { limit = 100, cursor = '' }: { limit?: number; cursor?: string },
): Page<Task> {
  const size = Math.min(Math.max(1, Math.floor(limit)), MAX_PAGE)
  const items: Task[] = []
  for (const task of tasks) {
    if (task.taskId <= cursor || !filter(task)) continue
    if (items.length === size) return { items, cursor: items.at(-1)?.taskId ?? '' }
    items.push(task)
  }
  return { items }
}
