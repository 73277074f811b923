/**
 * The due tasks of a lane, one after another in the order in which they are claimed. Its queues are each in order in the
 * index, and are merged here; of each a few are read ahead, so that a turn which claims many asks few times.
 */

import { type Claim, LOOKED_AT } from '../../api/store.ts'
import { mostTriedIn } from '../engine/claim.ts'
import { takesHome } from '../engine/homes.ts'
import type { Heads } from '../engine/port.ts'
import type { Wait } from '../engine/step.ts'
import type { HeldRows } from './held-rows.ts'
import { shownName } from './keys.ts'
import type { Lane, Queue } from './lane-rows.ts'
import type { TaskRow } from './rows.ts'
import { done } from './transact.ts'

/** Most that is read ahead at once: rows are up to some kilobytes each. */
const MOST_AHEAD = 128

interface Ahead {
  readonly queue: Queue
  rows: TaskRow[]
  /** Key of the last that was read. */
  last: readonly IDBValidKey[] | undefined
  /** Nothing more of it is due. */
  isOver: boolean
}

export class DueHeads implements Heads {
  readonly #tx: HeldRows
  readonly #lane: Lane
  readonly #queues: readonly Ahead[]
  /** The most attempts that a task may have had, where those with the fewest come first. */
  readonly #mostTried: number | undefined
  #ahead = 1
  #chosen: TaskRow | undefined

  /** Only queues that the claim may take from. */
  constructor(tx: HeldRows, lane: Lane, owner: string, claim: Claim) {
    this.#tx = tx
    this.#lane = lane
    this.#mostTried = mostTriedIn(claim, lane.name)
    this.#queues = lane.queues
      .filter(takes(owner, claim))
      .map((queue) => ({ queue, rows: [], last: undefined, isOver: false }))
  }

  get first(): TaskRow | undefined {
    if (this.#mostTried === undefined) return this.#best()?.rows[0]
    // a claim changes the row, and with it the choice
    this.#chosen ??= this.#leastTried()
    return this.#chosen
  }

  row(): TaskRow | undefined {
    return this.first
  }

  /** Reads `count` ahead of each queue, and from now on as many whenever one runs out. */
  read(count: number): Wait {
    this.#ahead = this.#mostTried !== undefined ? LOOKED_AT : Math.min(Math.max(1, count), MOST_AHEAD)
    return Promise.all(this.#queues.map((ahead) => this.#fill(ahead)))
  }

  next(): Wait {
    const { first } = this
    this.#chosen = undefined
    const best = this.#queues.find(({ rows }) => first !== undefined && rows.includes(first))
    best?.rows.splice(best.rows.indexOf(first as TaskRow), 1)
    return best && best.rows.length === 0 ? this.#fill(best) : undefined
  }

  #best(): Ahead | undefined {
    return this.#queues.filter(({ rows }) => rows.length > 0).reduce<Ahead | undefined>(sooner, undefined)
  }

  #leastTried(): TaskRow | undefined {
    const rank = this.#best()?.rows[0]?.rank
    const rows = this.#queues.flatMap((ahead) => (ahead.queue.rank === rank ? ahead.rows : []))
    const inOrder = rows.sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.seq - b.seq).slice(0, LOOKED_AT)
    const [least] = inOrder.sort((a, b) => a.attemptNumber - b.attemptNumber)
    return least && least.attemptNumber <= (this.#mostTried ?? 0) ? least : undefined
  }

  async #fill(ahead: Ahead): Promise<void> {
    const { queue, rows, isOver, last } = ahead
    if (rows.length > 0 || isOver) return
    const from = [this.#lane.name, queue.home, queue.rank]
    const to = [...from, this.#tx.now, []]
    const range = IDBKeyRange.bound(last ?? from, to, last !== undefined)
    const found: TaskRow[] = await done(this.#tx.store('tasks').index('due').getAll(range, this.#ahead))
    const end = found.at(-1)
    ahead.isOver = found.length < this.#ahead
    if (end) ahead.last = [...from, end.dueAt as number, end.seq] // it is in the index, so it has a due time
    ahead.rows = this.#tx.found(found)
  }
}

/** Whether a claim may take tasks of a queue. */
export function takes(owner: string, claim: Claim): (queue: Queue) => boolean {
  const takesIt = takesHome(owner, claim)
  return ({ home }) => takesIt(shownName(home))
}

/** The order of one lane: higher priority, then due first, then enqueued first. */
function sooner(best: Ahead | undefined, other: Ahead): Ahead {
  const [a, b] = [best?.rows[0], other.rows[0]]
  if (!best || !a || !b) return best ?? other
  return (b.rank - a.rank || (b.dueAt ?? 0) - (a.dueAt ?? 0) || b.seq - a.seq) < 0 ? other : best
}
