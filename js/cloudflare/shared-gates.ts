/**
 * One breaker and one retry budget an origin, shared by all requests of an isolate. A single request is over too soon to judge a
 * server, and the retries of many requests together must add no more to its load than the budget allows. A call that the
 * gates refuse goes to the origin's Durable Object.
 *
 * It holds numbers only: in a Worker, timers and promises belong to the request that made them.
 */

import type { OpenCircuit } from '../api/task-errors.ts'
import { type Finished, limitOf } from '../call/attempt.ts'
import type { Call } from '../call/call.ts'
import { adopted } from '../call/fetch-repeat.ts'
import { notSent } from '../call/not-sent.ts'
import { Calls, gateOfLane } from '../core/calls.ts'
import {
  BATCH,
  ENTRY_SENT,
  ENTRY_WAITS,
  LET_IN,
  NONE,
  OP_CALL,
  OP_CANCEL,
  OP_DROP_LANE,
  OP_GATES,
  OP_HELD_UNTIL,
  OP_LANE,
  OP_PAYS,
  OP_POLL,
  OP_SET_WHEN_OPEN,
  OP_STAND,
  OUTCOME_OWN_ERROR,
  OUTCOME_RELEASED,
  OUTCOME_TIMED_OUT,
  STORM,
  WHEN_OPEN,
} from '../core/codes.ts'
import { instantiate } from '../core/static.ts'
import { MAX_MS } from '../options/check.ts'
import { limitsOf } from '../options/limits.ts'
import type { Settings } from '../options/queue-options.ts'
import { FOREVER, steady } from '../platform/clock.ts'
import { internalsOf } from '../queue/internals.ts'
import { observe } from '../queue/observe.ts'
import type { QueueContext } from '../runner/context.ts'
import { circuitOf } from '../runner/door.ts'
import { gateNumbers, whenOpen } from '../runner/gates.ts'
import { Policies } from '../runner/handles.ts'
import { Rulings } from '../tasks/ruling.ts'

/**
 * A Worker that calls whatever it is asked to must not grow. Past so many origins those go whose gates have nothing to remember. Where
 * all have, a new origin has no gates, and is not tried again from here, where nothing would bound it: what holds an origin is
 * not forgotten for another's sake (S9).
 */
const MOST_ORIGINS = 1_000
/** While another call tries the server out, or is let in before them, those that wait look this often whether it is their turn. */
const LOOK_MS = 250
/** Calls that wait for their circuits at a time, of all requests of the isolate; one that has no room is refused. */
const MOST_WAITING = 10_000
/** Beyond so many sets of rules all gates are forgotten: a Worker's options may differ from request to request. */
const MOST_RULES = 16

interface Gates {
  readonly core: Calls
  readonly policies: Policies
  readonly rulings: Rulings
  readonly lanes: Map<string, number>
  /** The core's word on calls that wait, by the handles that it gave them, until they look. */
  readonly told: Map<number, number>
  readonly now: () => number
}

/** Gates by their rules; most Workers have one set of rules. */
const byRules = new Map<string, Gates>()

type OnHold = (call: Call, now: number, forMs: number) => void

export class SharedGates {
  readonly #host: QueueContext
  readonly #settings: Settings
  readonly #numbers: readonly number[]
  readonly #whenOpen: number
  readonly #maxLaneHoldMs: number
  readonly #rules: string
  readonly #onHold: OnHold

  /** Observes every attempt of `queue`. `onHold`: called when a server asks all callers to wait. */
  constructor(queue: object, gates: Pick<Settings, 'breaker' | 'retryBudget'>, onHold: OnHold = () => {}) {
    this.#onHold = onHold
    const { host } = internalsOf(queue)
    this.#host = host
    this.#settings = host.settings
    this.#numbers = gateNumbers({ ...host.settings, ...gates })
    this.#whenOpen = WHEN_OPEN.indexOf(whenOpen(gates))
    this.#maxLaneHoldMs = limitsOf(host.settings).maxLaneHoldMs
    this.#rules = [...this.#numbers, this.#whenOpen, this.#maxLaneHoldMs].join()
    observe(queue, {
      attempt: async (call, plan, next) => {
        const { task } = plan
        // one that may leave has passed them when it was planned
        if (task && task.attemptNumber > 1 && call.waitMs < MAX_MS) {
          const waitUntil = task.createdAt + call.waitMs
          if (!(await this.#pass(call.origin, waitUntil, plan.signal))) return notSent(OUTCOME_RELEASED, host.now())
          plan.timeoutMs = limitOf(call, waitUntil - host.now())
        }
        // by the clock that their circuits are timed by: that of a request may be a millisecond behind, and an attempt that seems to have begun
        // before its circuit changed does not count
        const startedAt = byRules.get(this.#rules)?.now()
        const finished = await next()
        // a caller who leaves says nothing about the server
        const isLeft = !finished.answer && finished.outcome !== OUTCOME_TIMED_OUT && plan.signal.aborted
        await this.#observe(call, {
          ...finished,
          ...(startedAt !== undefined && { startedAt }),
          ...(isLeft && { outcome: OUTCOME_OWN_ERROR }),
        })
        return finished
      },
    })
  }

  /**
   * Whether a call to this origin may be tried again from here, at `nextAt`: it costs a token. With `waitUntil` its retry waits until then for
   * its gates, and pays when it is sent.
   */
  mayRetry(origin: string, nextAt: number, waitUntil?: number): boolean {
    const gates = byRules.get(this.#rules)
    if (!gates) return true
    const now = gates.now()
    const lane = laneOf(gates, origin)
    if (lane === undefined) return false
    if (waitUntil !== undefined) return (opensAt(gates, lane) ?? 0) <= waitUntil
    return nextAt >= gates.core.call(OP_HELD_UNTIL, lane, now) && gates.core.call(OP_PAYS, now, lane) === 1
  }

  /**
   * The circuit that turns a new call away; half-open one call passes. undefined: it may be sent, or its caller has left. Until `waitUntil` it
   * waits for the circuit where that is expected to let it through in time, and then for its turn, as the server answers: by a timer of its
   * own, since no other request may end its wait.
   */
  async turnsAway({ origin, policy, signal }: Call, waitUntil: number): Promise<OpenCircuit | undefined> {
    let place: { readonly gates: Gates; readonly slot: number } | undefined
    for (;;) {
      const gates = byRules.get(this.#rules)
      const lane = gates?.lanes.get(origin)
      if (!gates || lane === undefined) return undefined
      const { core, policies, rulings, told, now } = gates
      const at = now()
      if (place?.gates !== gates) {
        const entry = core.call(OP_CALL, at, lane, waitUntil, false)
        if (entry === ENTRY_SENT) return undefined
        const stand = (handle: number) => core.send(OP_STAND, at, lane, handle, 0, at, FOREVER, waitUntil)
        place = { gates, slot: entry === ENTRY_WAITS ? policies.with(policy, stand) : NONE }
      }
      const { slot } = place
      if (signal?.aborted) core.call(OP_CANCEL, slot)
      poll(gates)
      const action = told.get(slot)
      told.delete(slot)
      // it was to try the server out, perhaps: another may
      if (signal?.aborted && action === LET_IN) rulings.heard(notSent(OUTCOME_OWN_ERROR, at), lane, policy, at)
      if (signal?.aborted || action === LET_IN) return undefined
      const circuit = circuitOf(core, lane, origin, at)
      if (slot === NONE || action !== undefined || at >= waitUntil) return circuit
      await this.#until(circuit.until ?? 0, at, waitUntil)
    }
  }

  /**
   * Waits until a retry to this origin may go, and takes its token, or its place as the one that tries the server out. false: not by `waitUntil`,
   * or its caller has left.
   */
  async #pass(origin: string, waitUntil: number, signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const gates = byRules.get(this.#rules)
      const lane = gates?.lanes.get(origin)
      if (!gates || lane === undefined) return true
      const { core, now } = gates
      const opens = opensAt(gates, lane)
      if (signal.aborted || Math.max(now(), opens ?? 0) > waitUntil) return false
      const isOpen = opens === undefined
      if (isOpen && (core.call(OP_PAYS, now(), lane) || core.call(OP_CALL, now(), lane, 0, false) === ENTRY_SENT))
        return true
      await this.#until(opens ?? 0, now(), waitUntil)
    }
  }

  /** Waits until then; 0: for a moment, since no one knows when. */
  #until(at: number, now: number, waitUntil: number): Promise<void> {
    const waitMs = Math.min(at === 0 ? LOOK_MS : at - now, waitUntil - now)
    return new Promise<void>((resolve) => this.#settings.clock.after(Math.max(1, waitMs), resolve))
  }

  async #observe(call: Call, finished: Finished): Promise<void> {
    const hasFailed = !finished.answer || finished.status >= 400
    // gates are made at the first failure, or limit: before it there is nothing to know
    const own = adopted(call, finished)
    if (!byRules.has(this.#rules) && !hasFailed && own.answer?.header('ratelimit') === null) return
    try {
      const open = await this.#open()
      const now = open.now()
      const lane = laneOf(open, call.origin)
      if (lane === undefined) return
      const heldUntil = open.rulings.heard(own, lane, call.policy, now)
      if (heldUntil > 0) this.#onHold(call, now, heldUntil - now)
      poll(open)
    } catch {
      // the queue of the call meets the same error and reports it
    }
  }

  async #open(): Promise<Gates> {
    const engine = await instantiate()
    const known = byRules.get(this.#rules)
    if (known) return known
    if (byRules.size >= MOST_RULES) forget()
    const core = new Calls(engine, 1, 1, MOST_WAITING, 0, this.#maxLaneHoldMs, this.#settings.seed)
    core.send(OP_GATES, ...this.#numbers)
    core.call(OP_SET_WHEN_OPEN, this.#whenOpen)
    const policies = new Policies(core, this.#host)
    const rulings = new Rulings(engine, core, policies, () => '', String)
    const now = steady(this.#settings.clock)
    const gates = { core, policies, rulings, lanes: new Map(), told: new Map(), now }
    byRules.set(this.#rules, gates)
    return gates
  }
}

function forget(): void {
  for (const { core } of byRules.values()) core.free()
  byRules.clear()
}

/** Notes what the core says of calls that wait. It also reports changed circuits: a Worker has no listeners for them. */
function poll({ core, told, now }: Gates): void {
  // a request that is gone takes none
  if (told.size > MOST_WAITING) told.clear()
  for (let count = BATCH; count === BATCH; ) {
    count = core.call(OP_POLL, now())
    for (let i = 1; i < 2 * count; i += 2) {
      const [slot, action] = [core.at(i), core.at(i + 1)]
      if (action >= LET_IN && action < STORM) told.set(slot, action)
    }
  }
}

/** When the gate opens that a retry meets; 0: no one knows when; undefined: it is open. */
function opensAt({ core, now }: Gates, lane: number): number | undefined {
  const { gate, until } = gateOfLane(core, lane, now(), true)
  if (gate === 'ready') return undefined
  // a probe may end long before its place lapses
  return until < FOREVER && gate !== 'circuit-probing' ? until : 0
}

/** `undefined`: there is no room for another. */
function laneOf(gates: Gates, origin: string): number | undefined {
  const { core, lanes } = gates
  const known = lanes.get(origin)
  if (known !== undefined) return known
  if (lanes.size >= MOST_ORIGINS) dropIdle(gates)
  if (lanes.size >= MOST_ORIGINS) return undefined
  const lane = core.call(OP_LANE)
  lanes.set(origin, lane)
  return lane
}

/** Looks at the lanes that were looked at longest ago, a few at a time. */
function dropIdle(gates: Gates): void {
  const { core, lanes } = gates
  // what they remember depends on the time, which the core has from its last poll
  poll(gates)
  let looks = 16
  for (const [origin, lane] of lanes) {
    if (looks-- === 0) return
    lanes.delete(origin)
    if (!core.call(OP_DROP_LANE, lane)) lanes.set(origin, lane)
  }
}
