/** The tasks in memory that wait or run, by the slots under which the core has them. */

import { SLOT_INDEX } from '../core/codes.ts'
import type { Task } from '../tasks/task.ts'

export class Slots {
  /** By the part of a slot that the core uses again; the rest tells a task from those that had its place before. */
  readonly #tasks: (Task | undefined)[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get all(): Task[] {
    return this.#tasks.filter((task) => task !== undefined)
  }

  at(slot: number): Task | undefined {
    const task = this.#tasks[slot & SLOT_INDEX]
    return task?.slot === slot ? task : undefined
  }

  add(task: Task, slot: number): void {
    task.slot = slot
    this.#tasks[slot & SLOT_INDEX] = task
    this.#size++
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
