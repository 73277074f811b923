/**
 * What the simulation itself knows of a store: only what went in and what came out. Naive on purpose: one record per task,
 * one rule per answer. Where something is not as the contract has it, the first such thing is kept as the violation.
 *
 * Instants are of `measure`: time that passed, and every jump forward of the store's clock. The store's own time never
 * runs ahead of it, so what `measure` calls too early is too early.
 */

import type { Called } from './callers.ts'
import { leakIn } from './canaries.ts'
import { Holds } from './holds.ts'
import { type Known, type LaneHold, type Principal, sameOrder } from './known.ts'
import type { Life } from './process.ts'
import type { Says } from './scenario.ts'
import type { VirtualTime } from './time.ts'
import type { Word } from './words.ts'

/** The default of `maxLaneHoldMs`. */
const LONGEST_HOLD_MS = 60_000

export interface Violation {
  /** Such as `S9`. */
  readonly id: string
  readonly what: string
}

export interface Limits {
  readonly total: number
  readonly perLane: number
  /** Tasks that may be pending, in flight or dead letters. */
  readonly capacity?: number
  /** Who was held up past its lease settles nothing but a success. */
  readonly isFenced?: boolean
  /** The store can tell which processes are gone. */
  readonly seesTheGone?: boolean
}

interface Asked {
  readonly origins: Set<string>
  readonly times: number
  /** It was asked for as a call that no store may have, and as one that a store may. */
  readonly isUnstored: boolean
  readonly mayBeStored: boolean
  /** In all that was asked for under it. */
  readonly isOrdered: boolean
  readonly isRefused: boolean
  /** Of any of its callers. */
  readonly refreshes: boolean
  readonly says: Says | undefined
  readonly isHandedOver: boolean
}

export class Book {
  readonly limits: Limits
  readonly time: VirtualTime
  readonly tasks: Map<string, Known> = new Map()
  readonly lanes: Map<string, LaneHold> = new Map()
  /** By token: when it was last given or renewed, in time that really passed, and for how long. */
  readonly leases: Map<number, { readonly at: number; readonly forMs: number }> = new Map()
  /** Tokens whose attempt is on its way. */
  readonly running: Set<number> = new Set()
  /** By token: when its attempt had ended, in time that really passed. */
  readonly ended: Map<number, number> = new Map()
  /** Whose requests are made, in a browser whose tabs have said so. */
  session: Principal | null | undefined
  /** When that was said, by the wall clock, and in time that really passed. */
  sessionSince = 0
  sessionAt = 0
  /** By owner: when its principal was last named, in time that really passed. */
  readonly named: Map<string, number> = new Map()
  /** Logins that the store knows to be under way, each with its owner. */
  readonly logins: Map<string, string> = new Map()
  /** Owners that will not be back, where the store can tell: since when, in time that really passed. */
  readonly gone: Map<string, number> = new Map()
  /** By token, or by intent where there is none: what was said of an attempt that failed. */
  readonly words: Map<number | string, Word> = new Map()
  /** By intent: how its callers have asked for it. */
  readonly asked: Map<string, Asked> = new Map()
  readonly holds: Holds = new Holds(this)
  /** Ids that callers were given. */
  readonly acknowledged: Set<string> = new Set()
  /** Tasks whose callers were told that they failed before their store knew it, by what has to see to it. */
  readonly left: Map<string, Life> = new Map()
  /** Rows that the store has taken, ever. */
  accepted = 0
  purged = 0
  lastToken = 0
  /** Turns that were asked for and not answered yet, each with what is to be noted after it. */
  readonly turning: Set<(() => void)[]> = new Set()
  /** Jumps forward of the store's clock, and back. */
  jumpedMs = 0
  putBackMs = 0
  violation: Violation | undefined
  readonly totals = { claims: 0, settled: 0, refused: 0, requests: 0, crashes: 0, callers: 0, acknowledged: 0 }
  readonly trace: string[] = []
  traced = false
  #seq = 0

  constructor(limits: Limits, time: VirtualTime) {
    this.limits = limits
    this.time = time
  }

  get measure(): number {
    return this.time.elapsed + this.jumpedMs
  }

  fail(id: string, what: string): void {
    this.note(`!! ${id} ${what}`)
    this.violation ??= { id, what: `${what} (at ${this.time.elapsed} ms)` }
  }

  expect(holds: boolean, id: string, what: () => string): void {
    if (!holds) this.fail(id, what())
  }

  /** `line` may cost something: it is asked for where somebody reads it. */
  note(line: string | (() => string)): void {
    if (this.traced) this.trace.push(`${this.time.elapsed} ${typeof line === 'string' ? line : line()}`)
  }

  /** A caller asks for something. */
  asks({
    intent,
    origin,
    isUnstored,
    isOrdered = false,
    isRefused = false,
    refreshes = false,
    says,
    isHandedOver = false,
  }: Called): void {
    const before = this.asked.get(intent)
    this.asked.set(intent, {
      origins: (before?.origins ?? new Set()).add(origin),
      times: (before?.times ?? 0) + 1,
      isUnstored: isUnstored || before?.isUnstored === true,
      mayBeStored: !isUnstored || before?.mayBeStored === true,
      isOrdered: isOrdered && before?.isOrdered !== false,
      isRefused: isRefused && before?.isRefused !== false,
      refreshes: refreshes || before?.refreshes === true,
      says: says ?? before?.says,
      isHandedOver: isHandedOver || before?.isHandedOver === true,
    })
  }

  /** Something leaves a queue: for a store, a caller, a listener or a tool. */
  shows(what: string, value: unknown): void {
    const leak = leakIn(value)
    if (leak !== undefined) this.fail('S12', `${what} holds a secret at ${leak}`)
  }

  nextSeq(): number {
    return ++this.#seq
  }

  lane(name: string): LaneHold {
    const never = Number.NEGATIVE_INFINITY
    const known = this.lanes.get(name) ?? {
      ...{ heldUntil: never, untilElapsed: never, setAt: never },
      ...{ endsBy: never, endsByElapsed: never, owesChance: false },
    }
    this.lanes.set(name, known)
    return known
  }

  hold(name: string, askedMs: number, what: string): void {
    this.holds.keeps(what, name, askedMs)
    const lane = this.lane(name)
    const forMs = Math.min(askedMs, LONGEST_HOLD_MS)
    if (forMs <= 0) return
    const { measure } = this
    const { elapsed } = this.time
    const isHeld = lane.heldUntil > measure
    if (!lane.owesChance) {
      lane.endsBy = measure + LONGEST_HOLD_MS
      lane.endsByElapsed = elapsed + LONGEST_HOLD_MS
    }
    // where one has ended and none was served since, the store may refuse the next, or not
    if (isHeld || !lane.owesChance) lane.heldUntil = Math.max(lane.heldUntil, Math.min(measure + forMs, lane.endsBy))
    const endsByElapsed = isHeld ? lane.endsByElapsed : Number.POSITIVE_INFINITY
    lane.untilElapsed = Math.max(lane.untilElapsed, Math.min(elapsed + forMs, endsByElapsed))
    lane.owesChance = true
    lane.setAt = elapsed
  }

  due(known: Known, at: number): void {
    known.dueAt = at
    known.dueElapsed = at - this.jumpedMs
    known.setAt = this.time.elapsed
  }

  /** The lease may have run out, and the store may have taken it back. */
  isLoose(known: Known): boolean {
    return known.status === 'IN_FLIGHT' && this.measure >= known.leaseUntil
  }

  /** Its owner is gone, or was put away: what it held counts as over, where the store can tell. */
  loosen(holder: string): void {
    for (const [login, owner] of this.logins) if (owner === holder) this.logins.delete(login)
    for (const known of this.tasks.values()) {
      if (known.holder !== holder || known.status !== 'IN_FLIGHT') continue
      known.leaseUntil = Math.min(known.leaseUntil, this.measure)
      known.leaseMs = Math.min(known.leaseMs, this.time.elapsed - known.leasedAt)
      this.leases.set(known.token, { at: known.leasedAt, forMs: known.leaseMs })
    }
  }

  /** Leases in force, of a lane or in all. */
  inForce(lane?: string): number {
    let count = 0
    for (const known of this.tasks.values()) {
      if (known.status !== 'IN_FLIGHT' || this.measure >= known.leaseUntil) continue
      if (lane === undefined || known.lane === lane) count++
    }
    return count
  }

  /** Another of its order that came first and has not ended. */
  before(known: Known): Known | undefined {
    for (const other of this.tasks.values()) {
      if (other !== known && sameOrder(other, known) && isLive(other) && other.seq < known.seq) return other
    }
    return undefined
  }

  keeper(principal: string | null, key: string): Known | undefined {
    for (const known of this.tasks.values()) {
      if (known.principal !== principal || known.key !== key) continue
      if (known.status !== 'CANCELLED' && known.status !== 'PURGED') return known
    }
    return undefined
  }

  live(principal?: Principal): Known[] {
    return [...this.tasks.values()].filter(
      (known) => isLive(known) && (principal === undefined || known.principal === principal),
    )
  }

  /** What takes room: dead letters too, which were accepted and may be sent again. */
  held(): Known[] {
    return [...this.tasks.values()].filter(({ status }) => ['PENDING', 'IN_FLIGHT', 'EXHAUSTED'].includes(status))
  }
}

export function isLive({ status }: Pick<Known, 'status'>): boolean {
  return status === 'PENDING' || status === 'IN_FLIGHT'
}
