/**
 * When the store is asked again: at the next moment that it has named, and where something keeps due work back that nobody
 * tells of, now and then.
 */

import type { Claim, Turn } from '../api/store.ts'
import type { Runner } from '../runner/runner.ts'
import { RENEWED_LEASE_MS } from './lease-terms.ts'

/** Due work that only limits keep back is looked at again after a second, then less often. */
const RETRY_BLOCKED_MS = 1_000
/** What happens elsewhere happens often: one look for all of it. */
const LOOK_SOON_MS = 1_000
/** Clocks are read in whole milliseconds, and not at once. */
const FROZEN_CLOCK_MS = 20
/** A timer so late was not late: the machine slept, the page was frozen, or the clock was put forward. */
const SLEEP_GAP_MS = 90_000
/** Everybody wakes when the network does, or the morning comes: first attempts are spread over so long. */
const WAKE_SPREAD_MS = 2_000
const FOREVER = Number.POSITIVE_INFINITY

export class TurnSchedule {
  /** 0: as soon as possible. */
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

  /** Room was made: whether that is news. */
  roomMade(): boolean {
    if (!this.#wantsRoom || !this.#runner.guard(() => this.#runner.core.vacancies())) return false
    this.#blockedMs = RETRY_BLOCKED_MS
    return true
  }

  /** More is due, as far as anybody knows: whether there is room for it. */
  workOffered(): boolean {
    if (this.#runner.guard(() => this.#runner.core.vacancies())) return true
    this.#wantsRoom = true
    return false
  }

  /** When the next claim may be made. */
  get claimAt(): number {
    return Math.max(this.nextAt, this.#notBefore)
  }

  /** Something may have changed that is not urgent. */
  lookSoon(now: number): void {
    this.nextAt = Math.min(this.nextAt, now + LOOK_SOON_MS)
  }

  /** After a gap it is not yet the time. */
  mayClaim(now: number): boolean {
    return now >= this.#notBefore
  }

  /** Whoever comes at `now` may come after a gap, in which everything may have become due. */
  afterGap(now: number): void {
    if (this.nextAt > 0 && now - this.nextAt > SLEEP_GAP_MS) this.spreadWake(now)
  }

  /** The first claim after a gap comes at a moment of its own. */
  spreadWake(now: number): void {
    this.#notBefore = now + Math.floor((this.#runner.host.draw() / 2 ** 32) * WAKE_SPREAD_MS)
    this.nextAt = this.#notBefore
  }

  /**
   * `lookAt`: the latest at which to look whatever the store says. `ownAt`: where only the tasks of this process's own callers may
   * be claimed, when the first of them is due.
   */
  planNext(turn: Turn, claim: Claim | null, lookAt: number, ownAt: number | undefined): void {
    const { core, host, lanes } = this.#runner
    const now = host.now()
    // no room, for own attempts or a pause: their end brings the next turn, and the clock none
    const room = claim !== null && (this.#runner.guard(() => core.vacancies()) ?? 0) > 0
    // a lane with less room than its limit may have kept something back, which `nextInMs` says nothing of
    this.#wantsRoom = !room || turn.blockedByLimit || (claim.bounds ?? []).length > 0
    const namedAt = ownAt ?? (turn.nextInMs === null ? FOREVER : now + turn.nextInMs)
    let nextAt = room ? namedAt : FOREVER
    // due, and not claimed: something that is not heard of keeps it back
    const isBlocked = turn.blockedByLimit || (ownAt !== undefined && ownAt <= now)
    if (room && isBlocked) {
      const looksAt = now + this.#blockedMs
      nextAt = ownAt !== undefined && ownAt <= now ? looksAt : Math.min(nextAt, looksAt)
      this.#blockedMs = Math.min(RENEWED_LEASE_MS, this.#blockedMs * 2)
    } else this.#blockedMs = RETRY_BLOCKED_MS
    nextAt = Math.min(Math.max(nextAt, this.#unlessFrozen(turn, now)), lookAt)
    for (const { lane, max } of claim?.bounds ?? []) {
      const handle = max === 0 ? lanes.named(lane) : undefined
      const shutUntil = handle === undefined ? 0 : (this.#runner.guard(() => core.shutUntil(handle, now)) ?? 0)
      if (shutUntil > now) nextAt = Math.min(nextAt, shutUntil)
    }
    this.nextAt = this.mayClaim(now) ? nextAt : this.#notBefore
  }

  /** A store whose clock was set back stands still until it has caught up: what is due in 1 ms by it is not due in 1 ms. */
  #unlessFrozen({ now: storeNow, claimed }: Turn, now: number): number {
    if (storeNow !== this.#storeNow || claimed.length > 0) {
      this.#storeNow = storeNow
      this.#movedAt = now
    }
    const stillMs = now - this.#movedAt
    return stillMs < FROZEN_CLOCK_MS ? 0 : now + Math.min(stillMs, RETRY_BLOCKED_MS)
  }
}
