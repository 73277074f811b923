/** Tasks in the order of their ids, which is the order in which most of them come: a sorted array takes a quarter of the room of a `Map`. */

interface Named {
  readonly taskId: string
}

/** The share of those that are gone past which there is room to win, one in so many. */
const SHARE = 4

export class ById<T extends Named> {
  /** The id of a task that is gone stays, which keeps the order, until there are too many of these. */
  #all: (T | string)[] = []
  #gone = 0

  get(taskId: string): T | undefined {
    const found = this.#all[this.#placeOf(taskId)]
    return typeof found === 'object' && found.taskId === taskId ? found : undefined
  }

  add(task: T): void {
    const last = this.#all.at(-1)
    if (last === undefined || idOf(last) < task.taskId) this.#all.push(task)
    else this.#all.splice(this.#placeOf(task.taskId), 0, task)
  }

  delete({ taskId }: T): void {
    const place = this.#placeOf(taskId)
    const found = this.#all[place]
    if (typeof found !== 'object' || found.taskId !== taskId) return
    this.#all[place] = taskId
    if (++this.#gone * SHARE < this.#all.length) return
    this.#all = [...this]
    this.#gone = 0
  }

  /** Those that were there when it began, less those that are gone when it comes to them. Nothing may be added meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    for (const each of this.#all) if (typeof each === 'object') yield each
  }

  /**
   * The first place whose id is not below this one. Those that are asked for, and those that go, are mostly old ones: from the first on,
   * in steps that grow while they fall short.
   */
  #placeOf(taskId: string): number {
    let place = 0
    for (let step = 1; step >= 1; ) {
      const each = this.#all[place + step - 1]
      if (each !== undefined && idOf(each) < taskId) {
        place += step
        step *= 2
      } else step /= 2
    }
    return place
  }
}

const idOf = (each: Named | string): string => (typeof each === 'object' ? each.taskId : each)
