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

  /** In the order in which they came. */
  get all(): Task[] {
    return this.#tasks.filter((task) => task !== undefined).sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
  }

  at(slot: number): Task | undefined {
    const task = this.#tasks[slot & SLOT_INDEX]
    return task?.slot === slot ? task : undefined
  }

  /**
   * The tasks of what the core wants done, slot and action in turns. Read before any of it is done: the slots of those that end are free by now, and
   * a listener's new task may take one.
   */
  of(actions: Uint32Array): (Task | undefined)[] {
    const tasks: (Task | undefined)[] = []
    for (let i = 0; i < actions.length; i += 2) tasks.push(this.at(actions[i] as number))
    return tasks
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
