/**
 * The lanes that one transaction has to do with: each is read once, and written once, since rows written are what a platform
 * bills. Until then the line in the database has their places as they were; a claim gets where they stand now.
 */

import { type Claim, SWEEP } from '../../api/store.ts'
import { takesHome } from '../engine/homes.ts'
import { boundsOf, type Lineup } from '../engine/lineup.ts'
import { inTurn, isHeld, type LanePlace } from '../engine/row.ts'
import { type Database, LIMIT } from './database.ts'
import { type LaneRow, laneOf, readLane, writeArrivals, writeLane } from './lane-rows.ts'
import { firstHead, firstPlaces, type Head, headsOf } from './line.ts'
import type { TaskRow } from './rows.ts'

interface Held {
  readonly lane: LaneRow
  isDirty: boolean
  /** New tasks, as long as no other has changed; `undefined`: one has. */
  arrivals: TaskRow[] | undefined
  /** `undefined`: to be looked for. */
  heads: readonly Head[] | undefined
}

export class HeldLanes {
  readonly #database: Database
  readonly #now: number
  readonly #lineup: Lineup
  readonly #held = new Map<string, Held>()

  constructor(database: Database, now: number, lineup: Lineup) {
    this.#database = database
    this.#now = now
    this.#lineup = lineup
  }

  /** A new one is `principal`'s. */
  of(name: string, principal: string | null): LaneRow {
    return this.#get(name, principal).lane
  }

  /** The lane has changed, but none of its tasks. */
  changed({ name, principal }: LaneRow): void {
    this.#get(name, principal).isDirty = true
  }

  /** A task of the lane has changed. */
  moved({ lane, principal }: TaskRow): void {
    const held = this.#get(lane, principal)
    held.isDirty = true
    held.arrivals = undefined
    held.heads = undefined
  }

  /** A task of the lane is new. */
  entered(row: TaskRow): void {
    const held = this.#get(row.lane, row.principal)
    held.isDirty = true
    held.arrivals?.push(row)
    held.heads = undefined
  }

  /** A task of the lane is gone. */
  lost(name: string): void {
    const held = this.#held.get(name)
    if (!held) return
    held.arrivals = undefined
    held.heads = undefined
  }

  /** The first due task of each home in a lane, as of now. */
  headsOf(name: string, principal: string | null): readonly Head[] {
    return this.#headsOf(this.#get(name, principal))
  }

  /** Takes up the claim's lanes whose moment has come, at most `SWEEP`, the soonest first; says whether there were any. */
  lookAt({ lanes, principal }: Claim): boolean {
    const due = lanes === 'any' ? this.#past(principal) : this.#listed(lanes, principal).filter(this.#isPast)
    for (const held of due) held.isDirty = true
    return due.length > 0
  }

  /** Answers `Tx.readyLanes`. Of a list each lane is looked at. */
  first(owner: string, claim: Claim, isFull: boolean, count: number): readonly LanePlace[] {
    const { lanes, principal, perLane } = claim
    const takes = takesHome(owner, claim)
    const mostOf = boundsOf(claim, this.#lineup)
    const isAny = lanes === 'any'
    const known = isAny ? [...this.#held.values()].filter(({ isDirty }) => isDirty) : this.#listed(lanes, principal)
    const places = known.flatMap((held): LanePlace | [] => {
      const { name, served, inFlight } = held.lane
      if (held.lane.principal !== principal || mostOf(name) <= 0 || inFlight >= perLane !== isFull) return []
      if (!this.#mayBeReady(held)) return []
      const first = firstHead(this.#headsOf(held), takes)
      return first ? { name, served, rank: first.rank, dueAt: first.dueAt } : []
    })
    if (isAny) {
      // as many more as may have to be left out
      const stale = known.filter(({ lane }) => lane.isReady === 1).length
      for (const place of firstPlaces(this.#database, owner, claim, this.#lineup, isFull, count + stale)) {
        if (!this.#held.get(place.name)?.isDirty) places.push(place)
      }
    }
    return places.sort(inTurn).slice(0, count)
  }

  /** Writes those that have changed, and forgets all: queries over lanes may follow. */
  write(): void {
    for (const held of this.#held.values()) {
      if (!held.isDirty || this.#hasTakenIn(held)) continue
      writeLane(this.#database, this.#now, held.lane, () => this.#headsOf(held))
    }
    this.forget()
  }

  forget(): void {
    this.#held.clear()
  }

  /** Writes it where it costs less. */
  #hasTakenIn({ lane, arrivals }: Held): boolean {
    return arrivals !== undefined && arrivals.length > 0 && writeArrivals(this.#database, this.#now, lane, arrivals)
  }

  #past(principal: string | null): Held[] {
    const past = `SELECT * FROM lanes INDEXED BY lanes_look WHERE principal IS ? AND lookAt <= ? ORDER BY lookAt ${LIMIT}`
    // mostly there is none, which is told sooner of one than of many
    const isAny = this.#database.one(past, principal, this.#now, 1) !== undefined
    const found = isAny ? this.#database.all<LaneRow>(past, principal, this.#now, SWEEP) : []
    return found.map((row) => this.#held.get(row.name) ?? this.#remember(laneOf(row)))
  }

  /** Those of the list that are the claim's principal's. */
  #listed(lanes: Exclude<Claim['lanes'], 'any'>, principal: string | null): Held[] {
    const names = new Set(lanes.map(({ lane }) => lane))
    return [...names].map((name) => this.#get(name, principal)).filter(({ lane }) => lane.principal === principal)
  }

  readonly #isPast = ({ lane: { lookAt } }: Held): boolean => lookAt !== null && lookAt <= this.#now

  /** Whether it is worth while to look for due tasks. */
  #mayBeReady({ lane, isDirty }: Held): boolean {
    if (isDirty) return lane.pending > 0 && !isHeld(lane, this.#now)
    return lane.readyAt !== null && lane.readyAt <= this.#now
  }

  #headsOf(held: Held): readonly Head[] {
    held.heads ??= headsOf(this.#database, this.#now, held.lane.name)
    return held.heads
  }

  /** One line of all is the one that a store has for no principal. */
  #get(name: string, principal: string | null): Held {
    const whose = this.#lineup.everyone ? null : principal
    return this.#held.get(name) ?? this.#remember(readLane(this.#database, name, whose))
  }

  #remember(lane: LaneRow): Held {
    const held: Held = { lane, isDirty: false, arrivals: [], heads: undefined }
    this.#held.set(lane.name, held)
    return held
  }
}
