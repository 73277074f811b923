/** The tasks in memory that wait or run, by the slots under which the core has them. */

import type { Calls } from '../core/calls.ts'
import { SLOT_INDEX } from '../core/codes.ts'
import type { Task } from '../tasks/task.ts'

/** A pair of the core's, and the task that has its slot; undefined: none has, or it is about a lane. */
export interface Action {
  readonly slot: number
  readonly action: number
  readonly task: Task | undefined
}

export class Slots {
  /** By the part of a slot that the core uses again; the rest tells a task from those that had its place before. */
  readonly #tasks: (Task | undefined)[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** In the order in which they came. */
  get all(): Task[] {
    return this.#tasks.filter((task) => task !== undefined).sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
  }

  at(slot: number): Task | undefined {
    const task = this.#tasks[slot & SLOT_INDEX]
    return task?.slot === slot ? task : undefined
  }

  /**
   * The core's wishes, `count` pairs of slot and action behind its answer to a poll. Read before any of it is done: that may call back into
   * the core, the slots of those that end are free by now, and a listener's new task may take one.
   */
  of(core: Pick<Calls, 'at'>, count: number): Action[] {
    const actions: Action[] = []
    for (let i = 1; i < 2 * count; i += 2) {
      const slot = core.at(i)
      actions.push({ slot, action: core.at(i + 1), task: this.at(slot) })
    }
    return actions
  }

  add(task: Task, slot: number): void {
    task.slot = slot
    if (!this.#tasks[slot & SLOT_INDEX]) this.#size++
    this.#tasks[slot & SLOT_INDEX] = task
  }

  /** Takes a task out, if it is in. */
  remove(task: Task): void {
    if (this.at(task.slot) === task) {
      this.#tasks[task.slot & SLOT_INDEX] = undefined
      this.#size--
    }
    task.slot = -1
  }
}
