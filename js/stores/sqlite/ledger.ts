/** The ledger of a file for everyone: what its transactions keep beside tasks and lanes. */

import { type NewTask, originIn, PLAIN_SCHEMA, principalIn } from '../../api/records.ts'
import type { Claim, Enqueued, LaneView, Turn } from '../../api/store.ts'
import type { Ledger } from '../engine/ledger.ts'
import type { Owned } from '../engine/sweep.ts'
import { firstTag } from '../engine/turns.ts'
import { soonestFirst } from '../engine/view.ts'
import type { LaneRow } from '../sql/lane-rows.ts'
import type { TaskRow } from '../sql/rows.ts'
import type { State } from '../sql/state.ts'
import { byName, type Transaction } from '../sql/transaction.ts'
import { FileGate } from './gate.ts'
import { SHARES, Shares, shareOfPrincipal } from './shares.ts'
import { isUnreported, markUnreported, unreportedCount } from './unreported.ts'

/** Layout 6, of a file alone: which ends are to be reported, and who has how much. */
export const LEDGER: string = `
ALTER TABLE tasks ADD COLUMN tells INTEGER NOT NULL DEFAULT 0;
${SHARES}`

export class FileLedger implements Ledger {
  readonly #tx: Transaction
  readonly #shares: Shares
  #gate: FileGate | undefined

  constructor(tx: Transaction) {
    this.#tx = tx
    const { limited } = tx.state as State & { readonly limited?: number }
    this.#shares = new Shares(tx.database, limited === 1)
  }

  count(row: TaskRow, by: 1 | -1): void {
    this.#shares.count(row, by)
    if (by < 0 || row.status !== 'PENDING' || row.aside) return
    const lane = this.#tx.lane(row)
    if (lane.pending === 1) this.#takeTag(lane)
  }

  tagAfter(lane: LaneRow): number {
    if (lane.pending > 0) this.#takeTag(lane)
    return lane.served
  }

  isLate(lane: LaneRow, rank: number): boolean {
    const { state } = this.#tx
    if (lane.served < firstTag(state.lastServed)) {
      this.#takeTag(lane)
      this.#tx.saveLane(lane)
      if (lane.served > state.lastServed) return true
    }
    // those of a higher priority go before their turn
    if (rank >= 0) state.lastServed = Math.max(state.lastServed, lane.served)
    return false
  }

  #takeTag(lane: LaneRow): void {
    lane.served = this.#shares.takeTag(shareOfPrincipal(principalIn(lane.name)), this.#tx.state.lastServed)
  }

  refusal({ taskId, principal, body, quotaExempt }: NewTask): Enqueued | undefined {
    const quota = quotaExempt ? undefined : this.#tx.terms.quotaOf?.(principal)
    if (!quota) return undefined
    const { capacity = Number.POSITIVE_INFINITY, capacityBytes = Number.POSITIVE_INFINITY } = quota
    const { held, bytes } = this.#shares.of(shareOfPrincipal(principal))
    const isOver = held >= capacity || bytes + (body?.byteLength ?? 0) > capacityBytes
    return isOver ? { taskId, outcome: 'full', of: 'principal' } : undefined
  }

  ended(row: TaskRow): void {
    if (row.schema > PLAIN_SCHEMA) markUnreported(this.#tx, row)
  }

  isUnreported(row: TaskRow): boolean {
    return row.schema > PLAIN_SCHEMA && isUnreported(this.#tx.database, row)
  }

  gate(owner: string, claim: Claim): FileGate | undefined {
    const isLimited = (claim.limits ?? claim.perPrincipal ?? claim.perFree) !== undefined
    this.#shares.forget(this.#tx.now, this.#tx.state.lastServed)
    if (isLimited) this.#shares.countInFlight()
    else if (this.#shares.waiting(1).length === 0) return undefined
    this.#gate = new FileGate(this.#tx, this.#shares, owner, claim)
    return this.#gate
  }

  /** A turn with all that a store for everyone tells. */
  completed(turn: Turn): Turn {
    const unreported = unreportedCount(this.#tx.database)
    const gate = this.#gate
    return {
      ...turn,
      ...(gate && { lanes: this.#waiting(gate, turn.lanes), nextInMs: this.#nextInMs(gate, turn.nextInMs) }),
      ...(unreported > 0 && { untold: unreported }),
    }
  }

  /** Whether a limit, or the want of a token, keeps back what is due in a lane. */
  keepsBack(lane: Pick<LaneRow, 'name' | 'inFlight'>): boolean {
    return this.#gate?.keepsBack(lane) === true
  }

  /** The principals that have most of the dead letters, or of what has succeeded or was cancelled. */
  owned(kind: 'dead' | 'done', most: number): Owned<string | null> {
    return byName(this.#shares.most(kind, most))
  }

  /** Writes what is held: the end of the transaction. */
  written(): void {
    this.#shares.write(this.#tx.state.lastServed)
  }

  #nextInMs(gate: FileGate, nextInMs: number | null): number | null {
    if (gate.isTired) return 0
    const at = nextInMs === 0 ? this.#tx.now : gate.tokenAt
    return at === Number.POSITIVE_INFINITY ? nextInMs : Math.min(nextInMs ?? at - this.#tx.now, at - this.#tx.now)
  }

  /** Lanes wait for the token of their origin too. */
  #waiting(gate: FileGate, lanes: readonly LaneView[]): readonly LaneView[] {
    const now = this.#tx.now
    const waits = (lane: LaneView): LaneView => {
      const tokenInMs = gate.tokenOf(originIn(lane.lane)) - now
      return lane.nextInMs === null || tokenInMs <= lane.nextInMs ? lane : { ...lane, nextInMs: tokenInMs }
    }
    return lanes.map(waits).sort(soonestFirst)
  }
}
