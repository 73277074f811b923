/**
 * The door of an origin: an awaited call does not start while the circuit is open. It waits here, where the circuit is expected to let it
 * through in time, and then makes its first attempt as any call does. The core says which call is let in, and when.
 */

import { QueueClosedError } from '../api/errors.ts'
import type { OpenCircuit } from '../api/task-errors.ts'
import type { Call } from '../call/call.ts'
import { notSent } from '../call/not-sent.ts'
import type { Calls } from '../core/calls.ts'
import {
  ENDED,
  ENTRY_SENT,
  ENTRY_WAITS,
  LET_IN,
  NONE,
  OP_CALL,
  OP_CANCEL,
  OP_OPENING,
  OP_STAND,
  OUTCOME_OWN_ERROR,
  STORM,
} from '../core/codes.ts'
import { whenAborted } from '../platform/abort.ts'
import { FOREVER } from '../platform/clock.ts'
import type { RunnerPorts } from './ports.ts'

interface Waiter {
  readonly call: Call
  /** Ends the wait: the call is sent, or its circuit keeps it from being sent. */
  readonly end: (circuit?: OpenCircuit) => void
  readonly fail: (error: unknown) => void
}

export class Door {
  readonly #runner: RunnerPorts
  /** By the handles that the core gave them. */
  readonly #waiters = new Map<number, Waiter>()

  constructor(runner: RunnerPorts) {
    this.#runner = runner
  }

  /**
   * undefined: the call may be sent now. Resolves with the circuit that it cannot wait for; with undefined: now it may be sent. Rejects with the
   * reason of its signal, and where the queue is closed. `isEarly`: it is not sent at once in any case.
   */
  enter(call: Call, createdAt: number, isEarly: boolean): Promise<OpenCircuit | undefined> | undefined {
    const { core, lanes, host } = this.#runner
    const { principal, origin, waitMs } = call
    const lane = lanes.find(principal, origin)
    if (lane === undefined) return undefined
    const entry =
      this.#runner.guard(() => core.call(OP_CALL, host.now(), lane, createdAt + waitMs, isEarly)) ?? ENTRY_SENT
    if (entry === ENTRY_SENT) return undefined
    const slot = entry === ENTRY_WAITS ? this.#runner.guard(() => this.#stand(call, createdAt, lane)) : NONE
    // there is no room for it, or it would wait in vain
    if (slot === NONE) return Promise.resolve(circuitOf(core, lane, origin, host.now()))
    return slot === undefined ? undefined : this.#wait(call, slot)
  }

  /** Does what the core says of a caller; false: it is about a task or a lane. */
  hears(slot: number, action: number): boolean {
    const waiter = action >= LET_IN && action < STORM ? this.#waiters.get(slot) : undefined
    if (!waiter) return false
    const { core, lanes, host } = this.#runner
    const { principal, origin } = waiter.call
    const lane = lanes.find(principal, origin)
    this.#waiters.delete(slot)
    waiter.end(action < ENDED || lane === undefined ? undefined : circuitOf(core, lane, origin, host.now()))
    return true
  }

  /** Ends the wait of those whose principal has left: they wait for nothing. */
  principalLeft(): void {
    const { host } = this.#runner
    for (const [slot, { call, end }] of this.#waiters) if (call.principal !== host.principal && this.#leave(slot)) end()
  }

  /** Nothing goes on here. A core that trapped decides nothing any more, so that their calls are plain ones (S18). */
  close(isTrapped: boolean): void {
    for (const [slot, { end, fail }] of this.#waiters) {
      if (!this.#leave(slot)) continue
      if (isTrapped) end()
      else fail(new QueueClosedError(this.#runner.host.settings.name))
    }
  }

  /** Takes note that a call ended without a word of its server: if it was to try the server out, another may. */
  left({ origin, principal, policy }: Call, startedAt: number): void {
    const { rulings, lanes, host } = this.#runner
    const lane = lanes.find(principal, origin)
    if (lane === undefined) return
    this.#runner.guard(() => rulings.heard(notSent(OUTCOME_OWN_ERROR, startedAt), lane, policy, host.now()))
    this.#runner.tickSoon()
  }

  #stand({ policy, options, waitMs }: Call, createdAt: number, lane: number): number {
    const { core, policies, host } = this.#runner
    const { priority = 0, expiresAt = FOREVER } = options
    return policies.with(policy, (handle) =>
      core.send(OP_STAND, host.now(), lane, handle, priority, createdAt, expiresAt, createdAt + waitMs),
    )
  }

  #wait(call: Call, slot: number): Promise<OpenCircuit | undefined> {
    const { signal } = call
    this.#runner.tickSoon()
    let unlisten: (() => void) | undefined
    const waiting = new Promise<OpenCircuit | undefined>((resolve, reject) => {
      this.#waiters.set(slot, { call, end: resolve, fail: reject })
      unlisten = signal ? whenAborted(signal, () => this.#leave(slot) && reject(signal.reason)) : undefined
    })
    return waiting.finally(unlisten)
  }

  #leave(slot: number): boolean {
    this.#runner.guard(() => this.#runner.core.call(OP_CANCEL, slot))
    return this.#waiters.delete(slot)
  }
}

/** The facts about the circuit of a lane. */
export function circuitOf(core: Calls, lane: number, origin: string, now: number): OpenCircuit {
  const since = core.call(OP_OPENING, lane, now)
  const until = core.at(1)
  return { origin, since, until: Number.isNaN(until) ? null : until }
}
