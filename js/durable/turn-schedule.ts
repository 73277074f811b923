/**
 * Decides when the store is asked for a turn.
 *
 * The next turn comes at the moment that the store has named. Where something keeps due work back whose end no hint tells, it
 * comes now and then. All of it is arithmetic on what the last turn has shown: nothing here asks the store or arms a timer.
 */

import type { Claim, Turn } from '../api/store.ts'
import { OP_SHUT_UNTIL, OP_VACANCIES } from '../core/codes.ts'
import { FOREVER } from '../platform/clock.ts'
import type { Runner } from '../runner/runner.ts'
import { RENEWED_LEASE_MS } from './lease-terms.ts'

/** Due work that limits alone keep back is looked at again after this long, then less and less often. */
const RETRY_BLOCKED_MS = 1_000
/** Other processes end tasks one after another: one turn this much later learns of all of them. */
const LOOK_SOON_MS = 1_000
/** Two reads of a healthy clock may agree for this long; after that it counts as frozen. */
const FROZEN_CLOCK_MS = 20
/** A timer later than this was not late: the machine slept, the page was frozen, or the clock was put forward. */
const SLEEP_GAP_MS = 90_000
/** All processes wake when the network comes back or the morning does: their first claims are spread over this long. */
const WAKE_SPREAD_MS = 2_000

export class TurnSchedule {
  /** When the next turn is due; 0: as soon as possible. */
  nextAt = 0
  #notBefore = 0
  readonly #runner: Runner
  #blockedMs = RETRY_BLOCKED_MS
  /** The store's clock as last seen, and when it was seen to move. */
  #storeNow = Number.NaN
  #movedAt = 0
  /** Something was due that there was no room for. */
  #wantsRoom = false

  constructor(runner: Runner) {
    this.#runner = runner
  }

  /** Takes note that an attempt has ended; gives whether a turn could claim something in its place. */
  roomMade(): boolean {
    if (!this.#wantsRoom || !this.#runner.guard(() => this.#runner.core.call(OP_VACANCIES))) return false
    this.#blockedMs = RETRY_BLOCKED_MS
    return true
  }

  /** Takes note that more may be due; gives whether there is room for it. */
  workOffered(): boolean {
    if (this.#runner.guard(() => this.#runner.core.call(OP_VACANCIES))) return true
    this.#wantsRoom = true
    return false
  }

  /** The moment from which the next claim may be made. */
  get claimAt(): number {
    return Math.max(this.nextAt, this.#notBefore)
  }

  /** Plans a turn for something that may have changed and is not urgent. */
  lookSoon(now: number): void {
    this.nextAt = Math.min(this.nextAt, now + LOOK_SOON_MS)
  }

  /** Whether a claim may be made: after a gap each process waits for a moment of its own. */
  mayClaim(now: number): boolean {
    return now >= this.#notBefore
  }

  /** Spreads the next claim if `now` comes after a gap, in which everything may have become due. */
  afterGap(now: number): void {
    if (this.nextAt > 0 && now - this.nextAt > SLEEP_GAP_MS) this.spreadWake(now)
  }

  /** Puts the first claim after a gap at a random moment of the spread. */
  spreadWake(now: number): void {
    this.#notBefore = now + Math.floor((this.#runner.host.draw() / 2 ** 32) * WAKE_SPREAD_MS)
    this.nextAt = this.#notBefore
  }

  /**
   * Plans the turn after `turn`, which was asked for at `askedAt`. `lookAt`: the latest at which to look whatever the store says.
   * `ownAt`: where this process may only claim tasks that its own callers wait for, the due time of the first of them.
   */
  planNext(turn: Turn, claim: Claim | null, askedAt: number, lookAt: number, ownAt: number | undefined): void {
    const { core, host, lanes } = this.#runner
    const now = host.now()
    // no room, for own attempts or a pause: their end brings the next turn, and the clock none
    const room = claim !== null && (this.#runner.guard(() => core.call(OP_VACANCIES)) ?? 0) > 0
    // a lane with less room than its limit may have kept something back, which `nextInMs` says nothing of
    this.#wantsRoom = !room || turn.blockedByLimit || (claim.bounds ?? []).length > 0
    // counted from the question: a store looks at its clock first, and what it then takes to commit and to answer is
    // over. Never a moment that has passed: that would look like a gap
    const namedAt = ownAt ?? (turn.nextInMs === null ? FOREVER : Math.max(now, askedAt + turn.nextInMs))
    let nextAt = room ? namedAt : FOREVER
    // due, and not claimed: something keeps it back whose end no hint tells
    const isBlocked = turn.blockedByLimit || (ownAt !== undefined && ownAt <= now)
    if (room && isBlocked) {
      const looksAt = now + this.#blockedMs
      nextAt = ownAt !== undefined && ownAt <= now ? looksAt : Math.min(nextAt, looksAt)
      this.#blockedMs = Math.min(RENEWED_LEASE_MS, this.#blockedMs * 2)
    } else this.#blockedMs = RETRY_BLOCKED_MS
    nextAt = Math.min(Math.max(nextAt, this.#frozenUntil(turn, now)), lookAt)
    for (const { lane, max, untried } of claim?.bounds ?? []) {
      const handle = max === 0 || untried ? lanes.named(lane) : undefined
      const shutUntil =
        handle === undefined ? 0 : (this.#runner.guard(() => core.call(OP_SHUT_UNTIL, handle, now)) ?? 0)
      if (shutUntil > now) nextAt = Math.min(nextAt, shutUntil)
    }
    this.nextAt = this.mayClaim(now) ? nextAt : this.#notBefore
  }

  /**
   * The moment until which a frozen clock of the store is left alone; 0: it moves. A clock that was set back stands still until
   * it has caught up: what is due in 1 ms by such a clock is not due in 1 ms.
   */
  #frozenUntil({ now: storeNow, claimed }: Turn, now: number): number {
    if (storeNow !== this.#storeNow || claimed.length > 0) {
      this.#storeNow = storeNow
      this.#movedAt = now
    }
    const stillMs = now - this.#movedAt
    return stillMs < FROZEN_CLOCK_MS ? 0 : now + Math.min(stillMs, RETRY_BLOCKED_MS)
  }
}
