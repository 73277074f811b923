/**
 * The lanes as one transaction sees them: changed in place, and written once.
 *
 * A site talks to few servers, so the first lanes are written with the counters, in one record; only those beyond are rows
 * of their own, so that a thousand of them are not written with every task.
 */

import { isLeft, type Lane, moved, newLane, soonestDue, tidy, type Waiting } from './lanes.ts'
import type { TaskRow } from './rows.ts'

/** Written with the counters. */
const TOGETHER = 16

interface Held {
  readonly lane: Lane
  isDirty: boolean
  /** `nextDue` has left, and what comes next has to be looked for. */
  isUnsure: boolean
}

export class LaneRows {
  readonly #idb: IDBTransaction
  readonly #known: ReadonlyMap<string, Lane>
  readonly #held = new Map<string, Held>()

  constructor(idb: IDBTransaction, known: ReadonlyMap<string, Lane>) {
    this.#idb = idb
    this.#known = known
  }

  /** That of a row, to be changed. */
  of(row: Pick<TaskRow, 'lane' | 'principal'>): Lane {
    return this.#hold(row).lane
  }

  /** It has been changed. */
  save(lane: Lane): void {
    this.#hold({ lane: lane.name, principal: lane.principal }).isDirty = true
  }

  /** Those that fit, to be changed. */
  filter(fits: (lane: Lane) => boolean): Lane[] {
    return this.#names().flatMap((name) => {
      const lane = this.#held.get(name)?.lane ?? this.#known.get(name)
      return lane && fits(lane) ? this.of({ lane: name, principal: lane.principal }) : []
    })
  }

  /** A task of it has come to wait, waits no longer, or waits for another time. */
  move(row: TaskRow, from: Waiting | undefined, to: Waiting | undefined): void {
    const held = this.#hold(row)
    held.isDirty = true
    if (moved(held.lane, from, to)) held.isUnsure = true
  }

  /** Writes those that are rows of their own; of the others, `together` says what has to be written. */
  async flush(now: number): Promise<void> {
    const dirty = [...this.#held.values()].filter(({ isDirty }) => isDirty)
    const unsure = dirty.filter(({ isUnsure }) => isUnsure)
    await Promise.all(
      unsure.map(async (held) => {
        held.lane.nextDue = await soonestDue(this.#idb.objectStore('tasks'), held.lane)
        held.isUnsure = false
      }),
    )
    for (const held of dirty) {
      held.isDirty = false
      tidy(held.lane, now)
      if (!held.lane.isApart) continue
      if (isLeft(held.lane)) this.#idb.objectStore('lanes').put(held.lane)
      else this.#idb.objectStore('lanes').delete(held.lane.name)
    }
  }

  together(): Lane[] {
    return [...this.all().values()].filter(({ isApart }) => !isApart)
  }

  /** As they have been flushed. */
  all(): Map<string, Lane> {
    const lanes = new Map(this.#known)
    for (const [name, { lane }] of this.#held) {
      if (isLeft(lane)) lanes.set(name, lane)
      else lanes.delete(name)
    }
    return lanes
  }

  #hold({ lane: name, principal }: Pick<TaskRow, 'lane' | 'principal'>): Held {
    const known = this.#held.get(name)
    if (known) return known
    const lane = this.#known.get(name) ?? newLane(name, principal, this.#names().length >= TOGETHER)
    const held = { lane: { ...lane }, isDirty: false, isUnsure: false }
    this.#held.set(name, held)
    return held
  }

  #names(): string[] {
    return [...new Set([...this.#known.keys(), ...this.#held.keys()])]
  }
}
