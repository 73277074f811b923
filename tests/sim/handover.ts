/**
 * L3: what waits in a browser's store, and may be sent, is claimed within a second by a tab that can, whoever is gone. What
 * may be sent is the book's to say; who can is said here, and generously: a tab that leads and was told something
 * wrong, or nothing, is another matter than one that sleeps over its work.
 */

import type { Book } from './book.ts'
import type { Known } from './known.ts'
import type { Life, Network, Process } from './process.ts'
import type { Tabs } from './stores.ts'

const BOUND_MS = 1_000
/** After a gap everybody wakes at once, and each looks at a moment of its own. */
const SPREAD_MS = 2_000
/** A clock that was put back stands still for so long at most. */
const STILL_MS = 61_000

interface Wait {
  /** What has to stay as it is for the wait to be one. */
  readonly as: string
  readonly since: number
  boundMs: number
}

interface Surroundings {
  readonly processes: readonly Process[]
  readonly network: Network
}

export class Handover {
  /** When the clock was last put back: what was due before that is due at another time. */
  putBackAt: number = Number.NEGATIVE_INFINITY
  readonly #book: Book
  readonly #tabs: Tabs
  readonly #world: Surroundings
  readonly #waits = new Map<string, Wait>()
  /** Longest that anything waited beyond its time. */
  longestMs = 0

  constructor(book: Book, tabs: Tabs, world: Surroundings) {
    this.#book = book
    this.#tabs = tabs
    this.#world = world
  }

  /** After each event. */
  check(): void {
    const { elapsed } = this.#book.time
    const leader = this.#leader()
    for (const known of this.#book.tasks.values()) {
      if (!leader || !this.#mayStart(known, leader)) {
        this.#over(known, elapsed)
        continue
      }
      const lane = this.#book.lane(known.lane)
      const as = `${leader.queue.name} ${known.status} ${known.token} ${known.dueAt} ${known.seq} ${lane.heldUntil}`
      const before = this.#waits.get(known.taskId)
      const since = Math.max(elapsed, known.dueElapsed, lane.untilElapsed)
      const wait = before?.as === as ? before : { as, since, boundMs: BOUND_MS }
      if (leader?.health.gap) wait.boundMs = BOUND_MS + SPREAD_MS
      this.#waits.set(known.taskId, wait)
      const lateMs = elapsed - wait.since
      if (lateMs <= wait.boundMs) continue
      const what = `${known.taskId} ${known.intent} waits ${lateMs} ms longer than it has to; ${leader?.queue.name} could send it`
      this.#book.fail('L3', what)
    }
  }

  #over({ taskId }: Known, elapsed: number): void {
    const wait = this.#waits.get(taskId)
    if (!wait) return
    this.#waits.delete(taskId)
    this.longestMs = Math.max(this.longestMs, elapsed - wait.since)
  }

  /** The queue that leads, or could lead, if it can send. */
  #leader(): Life | undefined {
    const { session = null } = this.#book
    const holder = this.#tabs.locks.holder(this.#tabs.leaderOf(session))
    const lives = this.#world.processes.flatMap(({ life }) => life ?? [])
    const able = this.#world.processes.flatMap((process) => (this.#isAble(process) ? (process.life ?? []) : []))
    const held = lives.find(({ page }) => page !== undefined && page === holder)
    // who was put away has let go, or should have, and who is hidden gives way
    if (held && !held.putAway && !held.page?.isHidden) return able.find((life) => life === held)
    return able[0]
  }

  #isAble({ life, principal }: Process): boolean {
    if (!life?.gate.alive || life.gate.frozen || life.closing || life.putAway || life.inMemory) return false
    const { way, health, sends, page } = life
    if (health.isLoading || page?.isHidden || !this.#world.network.online || principal !== this.#book.session)
      return false
    return way.troubles.length === 0 && !health.isTroubled && !sends.pausedAll
  }

  /** At its time, where that is known. */
  #mayStart(known: Known, life: Life): boolean {
    const { sends, health, page } = life
    const book = this.#book
    // with no cookies of anybody's
    if (book.logins.size > 0) return false
    if ((known.status !== 'PENDING' && known.status !== 'IN_FLIGHT') || this.#isOut(known)) return false
    if (known.principal !== book.session || known.parked || known.cancelRequested) return false
    const fixedAt = this.putBackAt + STILL_MS
    const lane = book.lane(known.lane)
    const wasHeldBefore = lane.heldUntil > Number.NEGATIVE_INFINITY && lane.setAt < fixedAt
    if (book.time.elapsed < fixedAt || known.setAt < fixedAt || wasHeldBefore) return false
    if (sends.paused.has(known.origin) || book.before(known) || this.#isHome(known)) return false
    const out = [...book.tasks.values()].filter((each) => this.#isOut(each))
    const { total, perLane } = book.limits
    if (out.length >= total || out.filter((each) => each.lane === known.lane).length >= perLane) return false
    if (!this.#hasRoom(known, life)) return false
    // a tab that has not led yet has not said
    if (page !== this.#tabs.locks.holder(this.#tabs.leaderOf(known.principal))) return true
    return !health.isFull && health.claim !== null && !health.claim.bounds?.some(({ lane }) => lane === known.lane)
  }

  /** What runs there unknown to the store needs room, too. */
  #hasRoom({ origin }: Known, { queue }: Life): boolean {
    const { total, perLane } = this.#book.limits
    const { inFlight, origins } = queue.stats({ allPrincipals: true })
    const { heldUntilAt = null, inFlight: inLane = 0 } = origins[origin] ?? {}
    if (inFlight >= total || heldUntilAt !== null) return false
    // of a lane of which nothing has run there it says what runs elsewhere
    return inFlight === 0 || inLane < perLane
  }

  /** Under a lease, as far as anybody can know who has not looked at the clock since. */
  #isOut(known: Known): boolean {
    if (known.status !== 'IN_FLIGHT') return false
    // nobody knows how much longer it lasts
    if (known.leasedAt < this.putBackAt + STILL_MS) return true
    return !this.#book.isLoose(known) || this.#book.time.elapsed < known.leasedAt + known.leaseMs
  }

  /** Its caller waits where it may be sent; a tab that was put away has let go of that. */
  #isHome({ home }: Known): boolean {
    if (home === null) return false
    const holder = this.#tabs.locks.holder(this.#tabs.homeOf(home))
    return this.#world.processes.some(({ life }) => life?.page !== undefined && life.page === holder && !life.putAway)
  }
}
