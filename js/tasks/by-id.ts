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
  /** Those before this place are gone: tasks go mostly in the order in which they came. */
  #first = 0

  get(taskId: string): T | undefined {
    const last = this.#all.at(-1)
    // of the youngest its caller asks for the result
    if (typeof last === 'object' && last.taskId === taskId) return last
    const found = this.#all[this.#placeOf(taskId)]
    return typeof found === 'object' && found.taskId === taskId ? found : undefined
  }

  add(task: T): void {
    const last = this.#all.at(-1)
    if (last === undefined || idOf(last) < task.taskId) this.#all.push(task)
    else {
      const place = this.#placeOf(task.taskId)
      this.#all.splice(place, 0, task)
      this.#first = Math.min(this.#first, place)
    }
  }

  delete({ taskId }: T): void {
    const place = this.#placeOf(taskId)
    const found = this.#all[place]
    if (typeof found !== 'object' || found.taskId !== taskId) return
    this.#all[place] = taskId
    while (typeof this.#all[this.#first] === 'string') this.#first++
    if (++this.#gone * SHARE < this.#all.length) return
    this.#all = [...this]
    this.#gone = 0
    this.#first = 0
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
    let place = this.#mayPrecede(taskId) ? 0 : this.#first
    for (let step = 1; step >= 1; ) {
      const each = this.#all[place + step - 1]
      if (each !== undefined && idOf(each) < taskId) {
        place += step
        step *= 2
      } else step /= 2
    }
    return place
  }

  /** Whether its place may be among those that are gone. */
  #mayPrecede(taskId: string): boolean {
    const before = this.#all[this.#first - 1]
    return before !== undefined && taskId <= idOf(before)
  }
}

const idOf = (each: Named | string): string => (typeof each === 'object' ? each.taskId : each)
