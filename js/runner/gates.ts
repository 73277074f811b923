/**
 * The gates between due tasks and their attempts: circuit breaker, retry budget, ramp, lane holds. Here they are configured,
 * asked about new calls, and their news become events. Every decision is the core's.
 */

import { CIRCUIT_OPEN, CIRCUITS, ENDED, ON_STORM_OPEN, ON_STORM_TELL, STORM } from '../core/codes.ts'
import { type GateStatus, gateOfLane, gateStatusOf } from '../core/decode.ts'
import type { Engine } from '../core/engine.ts'
import type { CoreQueue } from '../core/generated/queue/glue.js'
import type { BreakerOptions, RetryBudgetOptions } from '../options/gate-options.ts'
import type { Settings } from '../options/queue-options.ts'
import type { Task } from '../tasks/task.ts'
import { Alerts } from './alerts.ts'
import type { QueueContext } from './context.ts'
import type { Lanes } from './lanes.ts'

/** Retry budget of a page, whose ramp sees to a crowd whatever this is: docs/storms.md. */
const PAGE_CAPACITY = 1_000

/** The part of the runner that gates need. */
interface GatePorts {
  readonly core: CoreQueue
  readonly lanes: Lanes
  readonly host: QueueContext
  /** Closed or closing, or the core trapped. */
  readonly stopped: boolean
  guard<T>(work: () => T): T | undefined
}

export class Gates {
  readonly alerts: Alerts
  readonly #engine: Engine
  readonly #ports: GatePorts
  /** New calls end at once while the circuit of their origin is open. */
  readonly #failsWhenOpen: boolean

  constructor(engine: Engine, ports: GatePorts) {
    const { core, host } = ports
    this.#engine = engine
    this.#ports = ports
    this.alerts = new Alerts(host)
    this.#failsWhenOpen = failsWhenOpen(host.settings)
    core.gates(gateNumbers(host.settings))
  }

  /** Time until which calls to this origin have to wait because its server has asked for it; 0: they need not. */
  heldUntil(origin: string): number {
    return this.#ask(origin, (lane, now) => this.#ports.core.heldUntil(lane, now)) ?? 0
  }

  /**
   * Where its circuit turns a new call to this origin away: until when, as far as that is known, or 0. undefined: it does
   * not. `waits`: the call is not to be sent at once, so that it cannot try the server out.
   */
  opensAt(origin: string, waits: boolean): number | undefined {
    if (!this.#failsWhenOpen) return undefined
    const { core } = this.#ports
    return this.#ask(origin, (lane, now) => {
      const isOpen = core.circuit(lane, now) === CIRCUIT_OPEN
      const passes = !isOpen && (waits || core.admits(now, lane))
      return passes ? undefined : core.shutUntil(lane, now)
    })
  }

  /** The gate at which a task waits right now; undefined: it has ended. */
  statusOf({ slot }: Task): GateStatus | undefined {
    const { core } = this.#ports
    return slot < 0 ? undefined : this.#ports.guard(() => gateStatusOf(this.#engine, core, slot))
  }

  /** The gate at which a due task of a store would wait in its lane at `now`. `isRetry`: it has a counted attempt. */
  statusOfLane(principal: string | null, origin: string, now: number, isRetry: boolean): GateStatus | undefined {
    const { core, lanes } = this.#ports
    return this.#ports.guard(() => gateOfLane(this.#engine, core, lanes.of(principal, origin), now, isRetry))
  }

  /** Reports an action of the core that is about a gate; false: it is about a task. */
  report(lane: number, action: number): boolean {
    if (action >= STORM) this.alerts.storm(action - STORM)
    else if (action > 0 && action < ENDED) this.#reportCircuit(lane, action - 1)
    else return false
    return true
  }

  /** `code`: three times the state before, plus the state now. */
  #reportCircuit(lane: number, code: number): void {
    const origin = this.#ports.lanes.originOf(lane)
    const [from, to] = [CIRCUITS[Math.floor(code / 3)], CIRCUITS[code % 3]]
    if (origin && from && to) this.#ports.host.events.emit('circuit', { origin, from, to })
  }

  #ask<T>(origin: string, question: (lane: number, now: number) => T): T | undefined {
    const { lanes, host, stopped } = this.#ports
    const lane = lanes.find(host.principal, origin)
    if (lane === undefined || stopped) return undefined
    return this.#ports.guard(() => question(lane, host.now()))
  }
}

/** Whether new calls end at once while the circuit of their origin is open. */
function failsWhenOpen({ breaker }: Settings): boolean {
  // a fallback is for nothing else
  return !!breaker && (breaker.whenOpen ?? (breaker.fallback ? 'fail' : 'hold')) === 'fail'
}

/** The options as numbers for the core; NaN where its own default counts. */
export function gateNumbers({ breaker, retryBudget }: Settings): Float64Array {
  const isPage = globalThis.location !== undefined
  const rules: BreakerOptions = breaker || {}
  // thousands of tabs that each probe for themselves are no probe
  const failures = (breaker ?? !isPage) === false ? 0 : rules.consecutiveFailures
  const { minimumAttempts, failureRatio, windowMs, openMs, maxOpenMs, closeAfter, openOnStorm } = rules
  const budget: RetryBudgetOptions = retryBudget || {}
  const capacity = retryBudget === false ? 0 : (budget.capacity ?? (isPage ? PAGE_CAPACITY : undefined))
  // a storm is always told of
  const storm = openOnStorm ? ON_STORM_OPEN : ON_STORM_TELL
  const circuit = [failures, failureRatio, minimumAttempts, windowMs, openMs, maxOpenMs, closeAfter, storm]
  // a lane comes back as fast as goes well: after an opening, and in pages after failures in a row
  const ramp = breaker === false ? 0 : 1
  const numbers = [...circuit, capacity, budget.perSuccess, budget.perSecond, ramp]
  return Float64Array.from(numbers, (number) => number ?? Number.NaN)
}
