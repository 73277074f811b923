/**
 * The limits of one claim in a file for everyone: how many may be in flight of an origin or a principal, and the tokens of lanes and
 * origins.
 *
 * An origin or a principal that has as much as it may can have ten thousand lanes in line before all others. A claim that meets one
 * puts it into a line of that origin or principal (`principal` of the row of `line`), where later claims do not meet it. They look into that
 * line, beside the one of all, once its owner may have more.
 */

import { originIn } from '../../api/records.ts'
import { type Claim, SHUT_LOOKED_AT, SWEEP } from '../../api/store.ts'
import type { Gate } from '../engine/ledger.ts'
import { type Limit, type Limits, limitFor, limitsIn, type Rate, takeToken } from '../engine/limits.ts'
import { boundsOf, limitName, limitsOf } from '../engine/lineup.ts'
import { mostOfLane, mostOfPrincipal } from '../engine/places.ts'
import { isHeld } from '../engine/row.ts'
import type { LaneRow } from '../sql/lane-rows.ts'
import { firstPlaces } from '../sql/line.ts'
import type { Transaction } from '../sql/transaction.ts'
import { isOfPrincipal, type Shares, type Waiting } from './shares.ts'

/** A lane, as far as limits go. */
type Sized = Pick<LaneRow, 'name' | 'inFlight'>

interface Parts {
  readonly origin: string
  /** The share of its principal. */
  readonly principal: string
  readonly limit: Limit
}

export class FileGate implements Gate {
  readonly #tx: Transaction
  readonly #shares: Shares
  readonly #owner: string
  readonly #claim: Claim
  readonly #limits: Limits
  readonly #limitOf = new Map<string, Limit>()
  /** By the name of a lane: a claim asks again and again. */
  readonly #parts = new Map<string, Parts>()
  readonly #mostOf: (lane: string) => number
  readonly #nameOf: (lane: string) => string
  /** Leases given, by the name that bounds go by. */
  readonly #taken = new Map<string, number>()
  readonly #parked: LaneRow[] = []
  /** Lanes that were to be claimed from, and whose origin has no token any more. */
  readonly #lacking = new Set<LaneRow>()
  /** Lines that the claim does not look into, or not any more, since nothing in them may start. */
  readonly #shut: string[] = []

  constructor(tx: Transaction, shares: Shares, owner: string, claim: Claim) {
    this.#tx = tx
    this.#shares = shares
    this.#owner = owner
    this.#claim = claim
    this.#limits = limitsIn(claim.limits)
    this.#mostOf = boundsOf(claim, tx.lineup)
    this.#nameOf = limitName(claim, tx.lineup)
    const lines: string[] = []
    for (const { name } of this.#waiting()) {
      if (!this.#mayStart(name)) this.#shut.push(name)
      else if (this.#isEmpty(name)) shares.setWaiting(name, false)
      else lines.push(name)
    }
    tx.lineup.lines = lines
  }

  get isTired(): boolean {
    return this.#parked.length >= SWEEP
  }

  lacksToken(lane: LaneRow): boolean {
    if ((lane.tokenAt ?? 0) > this.#tx.now) return true
    const { origin, limit } = this.#partsOf(lane.name)
    if (!limit.rate || !this.#originLacks(origin)) return false
    this.#lacking.add(lane)
    return true
  }

  isFull(lane: Sized): boolean {
    return this.#isLaneFull(lane) || this.#fullPart(lane) !== undefined
  }

  parks(lane: LaneRow): boolean {
    if (lane.waitsIn !== undefined) return true
    const { origin } = this.#partsOf(lane.name)
    const line = this.#originLacks(origin) ? origin : this.#fullPart(lane)
    if (line === undefined) return false
    lane.waitsIn = line
    this.#parked.push(lane)
    this.#tx.run('UPDATE line SET principal = ? WHERE lane = ?', line, lane.name)
    this.#shares.setWaiting(line, true)
    return true
  }

  took(lane: LaneRow): void {
    const { now } = this.#tx
    const name = this.#nameOf(lane.name)
    this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1)
    const { origin, limit } = this.#partsOf(lane.name)
    const { rate, isShared } = limit
    if (rate && isShared) this.#shares.takeToken(origin, rate, now)
    else if (rate) this.#takeOwn(lane, rate)
    this.#shutFull()
  }

  #takeOwn(lane: LaneRow, rate: Rate): void {
    const bucket = { tat: lane.tat ?? 0, tokenAt: lane.tokenAt ?? 0 }
    takeToken(bucket, rate, this.#tx.now)
    lane.tat = bucket.tat
    lane.tokenAt = bucket.tokenAt
    this.#tx.run('UPDATE lanes SET tat = ?, tokenAt = ? WHERE name = ?', bucket.tat, bucket.tokenAt, lane.name)
  }

  /** Leaves the lines whose owners may have no more: there may be thousands in each. With the places that are free all principals may have fewer. */
  #shutFull(): void {
    const { lineup } = this.#tx
    lineup.lines = (lineup.lines ?? []).filter((line) => {
      const mayStart = this.#mayStart(line)
      if (!mayStart) this.#shut.push(line)
      return mayStart
    })
  }

  isBlocked(): boolean {
    const isKept = (lane: LaneRow): boolean => !this.#lacks(lane) && this.#isOpen(lane)
    return (
      this.#parked.some(isKept) || this.#shut.some((line) => !this.#originLacks(line) && this.#hasLane(line, isKept))
    )
  }

  /** When the first token of an origin comes that alone keeps back what is due; Infinity: there is no such. */
  get tokenAt(): number {
    const { perLane } = this.#claim
    const isKept = (lane: LaneRow): boolean =>
      this.#originLacks(originIn(lane.name)) && lane.inFlight < perLane && !this.isFull(lane) && this.#isOpen(lane)
    let first = Number.POSITIVE_INFINITY
    for (const lane of [...this.#parked, ...this.#lacking])
      if (isKept(lane)) first = Math.min(first, this.#shares.of(originIn(lane.name)).tokenAt)
    const lacking = this.#shut.filter((line) => this.#originLacks(line))
    const later = lacking.map((line) => ({ line, tokenAt: this.#shares.of(line).tokenAt }))
    // by their moments, so that the first of them with such a lane decides
    for (const { line, tokenAt } of later.sort((a, b) => a.tokenAt - b.tokenAt)) {
      if (tokenAt >= first) break
      if (this.#hasLane(line, isKept)) first = tokenAt
    }
    return first
  }

  /** When lanes of an origin may next be leased; in the past: now. */
  tokenOf(origin: string): number {
    const { rate, isShared } = this.#limitFor(origin)
    return rate && isShared ? this.#shares.of(origin).tokenAt : Number.NEGATIVE_INFINITY
  }

  /** Whether a limit, or the want of a token of its origin, keeps back what is due in a lane. */
  keepsBack(lane: Sized): boolean {
    return this.isTired || this.#originLacks(originIn(lane.name)) || this.isFull(lane)
  }

  /** Those in whose lines lanes wait, but for origins that the claim bounds to 0. */
  #waiting(): readonly Waiting[] {
    const mostOf = limitsOf(this.#claim)
    const isShut = ({ name }: Waiting): boolean =>
      this.#claim.lanes === 'any' && !isOfPrincipal(name) && mostOf(name) <= 0
    const found: Waiting[] = []
    for (let page = this.#shares.waiting(SWEEP); ; page = this.#shares.waiting(SWEEP, page.at(-1))) {
      found.push(...page.filter((each) => !isShut(each)))
      if (page.length < SWEEP || found.length >= SWEEP) return found
    }
  }

  #isEmpty(line: string): boolean {
    return !this.#tx.database.one('SELECT 1 FROM line INDEXED BY line_first WHERE principal IS ? LIMIT 1', line)
  }

  /** Whether lanes of an origin or a principal may start anything. */
  #mayStart(name: string): boolean {
    const inFlight = this.#shares.inFlightOf(name)
    if (isOfPrincipal(name)) return inFlight < this.#mostOfPrincipal()
    const { concurrency, isShared } = this.#limitFor(name)
    return !this.#originLacks(name) && !(isShared && inFlight >= concurrency)
  }

  /** The origin or the principal of a lane that has as much in flight as it may. */
  #fullPart({ name }: Sized): string | undefined {
    const { origin, principal, limit } = this.#partsOf(name)
    const { concurrency, isShared } = limit
    if (isShared && concurrency !== MANY && this.#shares.inFlightOf(origin) >= concurrency) return origin
    const most = this.#mostOfPrincipal()
    return most !== MANY && this.#shares.inFlightOf(principal) >= most ? principal : undefined
  }

  #mostOfPrincipal(): number {
    return mostOfPrincipal(this.#claim, this.#tx.state.inFlight)
  }

  #isLaneFull({ name, inFlight }: Sized): boolean {
    const { concurrency, isShared } = this.#partsOf(name).limit
    return (!isShared && inFlight >= concurrency) || inFlight >= mostOfLane(this.#claim, this.#leftOf(name))
  }

  /** The claim may still take so many of a lane, or of all lanes of its origin. */
  #leftOf(lane: string): number {
    return this.#mostOf(lane) - (this.#taken.get(this.#nameOf(lane)) ?? 0)
  }

  #originLacks(origin: string): boolean {
    return this.tokenOf(origin) > this.#tx.now
  }

  #lacks(lane: LaneRow): boolean {
    return (lane.tokenAt ?? 0) > this.#tx.now || this.#originLacks(originIn(lane.name))
  }

  #limitFor(origin: string): Limit {
    const known = this.#limitOf.get(origin)
    if (known) return known
    const limit = limitFor(this.#limits, origin) ?? NO_LIMIT
    this.#limitOf.set(origin, limit)
    return limit
  }

  #partsOf(lane: string): Parts {
    const known = this.#parts.get(lane)
    if (known) return known
    const origin = originIn(lane)
    const parts = { origin, principal: lane.slice(origin.length), limit: this.#limitFor(origin) }
    this.#parts.set(lane, parts)
    return parts
  }

  /** Whether holds, bounds and pauses let the claim take one more of a lane, and it has one. */
  #isOpen(lane: LaneRow): boolean {
    if (isHeld(lane, this.#tx.now) || this.#leftOf(lane.name) <= 0) return false
    return this.#tx.heads(lane, this.#owner, this.#claim).first !== undefined
  }

  /** Whether one of the first lanes in a line fits; where there are more than are looked at, one of those may. Mostly the first does. */
  #hasLane(line: string, fits: (lane: LaneRow) => boolean): boolean {
    const { database, lineup } = this.#tx
    const only = { ...lineup, lines: [] }
    const claim = { ...this.#claim, principal: line }
    const found = (isFull: boolean, count: number): boolean => {
      const places = firstPlaces(database, this.#owner, claim, only, isFull, count)
      if (places.some(({ name }) => fits(this.#tx.laneNamed(name)))) return true
      return places.length === count && (count === SHUT_LOOKED_AT || found(isFull, SHUT_LOOKED_AT))
    }
    return found(false, FIRST) || found(true, FIRST)
  }
}

/** Lanes of a line that are looked at before more are read. */
const FIRST = 4
const MANY = Number.POSITIVE_INFINITY
const NO_LIMIT: Limit = { concurrency: MANY, isShared: false, rate: undefined }
