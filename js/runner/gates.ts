/**
 * The gates between due tasks and their attempts: circuit breaker, retry budget, ramp, lane holds. Here they are configured,
 * asked about new calls, and their news become events. Every decision is the core's.
 */

import type { OriginStats } from '../api/stats.ts'
import { type GateStatus, gateOfLane, gateStatusOf } from '../core/calls.ts'
import {
  CIRCUIT_CLOSED,
  CIRCUITS,
  ENDED,
  ON_STORM_OPEN,
  ON_STORM_TELL,
  OP_CIRCUIT,
  OP_ENDS_WAIT,
  OP_GATES,
  OP_HELD_UNTIL,
  OP_RATE,
  OP_SET_WHEN_OPEN,
  STORM,
  WHEN_OPEN,
} from '../core/codes.ts'
import type { BreakerOptions, RetryBudgetOptions } from '../options/gate-options.ts'
import type { Settings } from '../options/queue-options.ts'
import { FOREVER } from '../platform/clock.ts'
import { isPage } from '../platform/page.ts'
import type { Task } from '../tasks/task.ts'
import { Alerts } from './alerts.ts'
import { comebackOf, type Evidence } from './evidence.ts'
import type { RunnerPorts } from './ports.ts'

export class Gates {
  readonly alerts: Alerts
  readonly #ports: RunnerPorts & { readonly evidence: Evidence }
  /** Enqueued and deferred calls wait unsent while the circuit of their origin is not closed. */
  readonly #keeps: boolean

  constructor(ports: RunnerPorts & { readonly evidence: Evidence }) {
    const { core, host } = ports
    this.#ports = ports
    this.alerts = new Alerts(host)
    const mode = whenOpen(host.settings)
    this.#keeps = mode !== 'hold'
    // the pages of others, and other requests of an isolate, may have been told the same, and none of them is seen here
    const isSeen = !isPage() && !host.handOver
    core.send(OP_GATES, ...gateNumbers(host.settings), isSeen)
    const { rate } = host.settings
    if (rate) core.call(OP_RATE, rate.perSecond, rate.burst ?? 1)
    core.call(OP_SET_WHEN_OPEN, WHEN_OPEN.indexOf(mode))
  }

  /** Time until which calls to this origin have to wait because its server has asked for it; 0: they need not. */
  heldUntil(origin: string): number {
    return this.#ask(origin, (lane, now) => this.#ports.core.call(OP_HELD_UNTIL, lane, now)) ?? 0
  }

  /** Whether what is enqueued for this origin is not sent for now: its circuit is not closed. */
  keeps(origin: string): boolean {
    if (!this.#keeps) return false
    return this.#ask(origin, (lane, now) => this.#ports.core.call(OP_CIRCUIT, lane, now) !== CIRCUIT_CLOSED) === true
  }

  /** The gate at which a task waits right now; undefined: it has ended. */
  statusOf({ slot }: Task): GateStatus | undefined {
    const { core, host } = this.#ports
    return slot < 0 ? undefined : this.#ports.guard(() => gateStatusOf(core, slot, host.now()))
  }

  /** The gate at which a due task of a store would wait in its lane at `now`. `isRetry`: it has a counted attempt. */
  statusOfLane(principal: string | null, origin: string, now: number, isRetry: boolean): GateStatus | undefined {
    const { core, lanes } = this.#ports
    return this.#ports.guard(() => gateOfLane(core, lanes.of(principal, origin), now, isRetry))
  }

  /** The gate that keeps the retries of a lane from starting, as `stats()` says it. */
  ofLane(lane: number): Pick<OriginStats, 'gate' | 'gateUntilAt'> {
    const { core, host } = this.#ports
    const { gate, until } = gateOfLane(core, lane, host.now(), true)
    return gate === 'ready' ? {} : { gate, gateUntilAt: until < FOREVER ? until : null }
  }

  /** Reports an action of the core that is about a gate; false: it is about a task. */
  report(lane: number, action: number): boolean {
    if (action >= STORM) this.alerts.storm(action - STORM, this.#ports.lanes.at(lane)?.origin)
    else if (action > 0 && action < ENDED) this.#reportCircuit(lane, action - 1)
    else return false
    return true
  }

  /** `code`: three times the state before, plus the state now. */
  #reportCircuit(lane: number, code: number): void {
    const { core, lanes, host, stored, evidence } = this.#ports
    const { principal, origin } = lanes.at(lane) ?? {}
    const [from, to] = [CIRCUITS[Math.floor(code / 3)], CIRCUITS[code % 3]]
    if (!origin || !from || !to || principal === undefined) return
    // those in memory the core has ended already
    const isOver = (task: Task) =>
      task.principal === principal && task.origin === origin && core.call(OP_ENDS_WAIT, lane, task.waitUntil) === 1
    if (to === 'OPEN') stored?.callers.endWaits(isOver, 'circuit_open')
    host.changed?.({})
    host.events.emit('circuit', { origin, from, to })
    if (to === 'OPEN') evidence.opened(origin)
    else if (to === 'CLOSED') evidence.closed(origin)
  }

  #ask<T>(origin: string, question: (lane: number, now: number) => T): T | undefined {
    const { lanes, host, stopped } = this.#ports
    const lane = lanes.find(host.principal, origin)
    if (lane === undefined || stopped) return undefined
    return this.#ports.guard(() => question(lane, host.now()))
  }
}

/** The fate of awaited calls while a circuit is open. Where there is something to give in their place, it is wanted soon. */
export function whenOpen({ breaker }: Pick<Settings, 'breaker'>): (typeof WHEN_OPEN)[number] {
  if (breaker === false) return 'hold'
  return breaker?.whenOpen ?? (breaker?.fallback ? 'fail' : 'wait')
}

/** The options as numbers for the core; NaN where its own default counts. */
export function gateNumbers({ breaker, retryBudget }: Settings): number[] {
  const { fairShare, afterMs, openMs, maxOpenMs, openOnStorm }: BreakerOptions = breaker || {}
  const { capacity, perSuccess, perSecond }: RetryBudgetOptions = retryBudget || {}
  const isOn = breaker !== false
  // a storm is always told of
  const storm = openOnStorm ? ON_STORM_OPEN : ON_STORM_TELL
  const circuit = [isOn ? fairShare : 0, afterMs, openMs, maxOpenMs, storm]
  const budget = [retryBudget === false ? 0 : capacity, perSuccess, perSecond]
  const numbers = [...circuit, ...budget, comebackOf(breaker)]
  return numbers.map((number) => number ?? Number.NaN)
}
