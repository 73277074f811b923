/** Settles leased tasks: an ended attempt becomes a settlement, and callers hear what the store answers, never what the attempt alone has shown. */

import { type Carry, laneName, type Settlement, type Turn } from '../api/store.ts'
import { MARK_SEE_OTHER } from '../core/codes.ts'
import { waitsInVain } from '../runner/principal-left.ts'
import { reportFollowUp } from '../tasks/follow-up.ts'
import { type HistoryEntry, showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import { reportUnreadable } from './notices.ts'
import type { Endings, StoredState } from './state.ts'
import type { StoreLoop } from './store-loop.ts'
import type { LeaseStarter } from './take-lease.ts'
import type { WaitingCallers } from './waiting-callers.ts'

const PARKED_MS = 60_000

export class Settler {
  readonly #state: StoredState
  readonly #endings: Endings
  readonly #loop: StoreLoop
  readonly #callers: WaitingCallers
  readonly #starter: LeaseStarter

  constructor(state: StoredState, endings: Endings, loop: StoreLoop, callers: WaitingCallers, starter: LeaseStarter) {
    this.#state = state
    this.#endings = endings
    this.#loop = loop
    this.#callers = callers
    this.#starter = starter
  }

  /** An attempt of a leased task has ended, and its slot is free. */
  settle(task: Task, ruling: Ruling): void {
    const { lease } = task
    task.slot = -1
    if (!lease) return
    const { runner } = this.#state
    const now = runner.host.now()
    // its server has spoken to all, whether this attempt still counts or not
    const tellHold = () =>
      ruling.holdMs > 0 && this.#loop.holdLane(laneName(task.principal, task.origin), now + ruling.holdMs)
    if (ruling.kind === 'lost') {
      this.#lost(task)
      tellHold()
      this.#loop.requestTurn()
      return
    }
    const { entry } = ruling
    const next = settlementOf(ruling)
    this.#starter.noteCarry(task, next)
    // the turn that tells the store of it goes by the store's word already
    if (ruling.holdMs > 0) this.#state.shareHold(task)
    task.log(entry)
    const settlement: Settlement = {
      lease: { taskId: task.taskId, token: lease.token, forMs: lease.forMs },
      log: showEntry(task.taskId, entry),
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      next,
    }
    const answered = (said: Turn['settled'][number]) => {
      if (said === 'stale' || said === 'gone') tellHold()
      this.#settled(task, ruling, entry, said)
    }
    this.#loop.addEnding({ task, settlement, answered })
  }

  /** The attempt of a call has succeeded before its task had a lease: a store takes a success without one. */
  settleOwn(task: Task, ruling: Ruling): void {
    const { taskId, call } = task
    const own = call?.underWay
    const { entry } = ruling
    const lease = { taskId, token: 0, forMs: 0 }
    const answered = (said: Turn['settled'][number]) => {
      // it was cancelled, or leased meanwhile: that lease says how it ends
      if (said === 'stale' || !call || call.underWay !== own) return
      call.underWay = undefined
      task.log(entry)
      this.#settled(task, ruling, entry, said)
    }
    this.#loop.addEnding({
      task,
      settlement: { lease, log: showEntry(taskId, entry), next: { kind: 'succeeded' } },
      answered,
    })
    this.#state.runner.tickSoon()
  }

  #settled(task: Task, ruling: Ruling, entry: HistoryEntry, said: Turn['settled'][number]): void {
    const { kind } = ruling
    task.attemptNumber = ruling.number
    if (said === 'stale') this.#lost(task)
    else if (said === 'gone') this.#endings.purged(task)
    else if (said === 'cancelled') this.#endings.end(task, 'CANCELLED')
    else if (kind === 'succeeded') this.#endings.end(task, 'SUCCEEDED')
    else if (kind === 'exhausted') this.#exhausted(task, ruling)
    else this.#goOn(task, ruling, entry)
  }

  #exhausted(task: Task, { reason }: Ruling): void {
    const damage = task.lease?.damage
    if (damage) reportUnreadable(this.#state.runner, task.taskId, damage, 'it is a dead letter')
    this.#endings.end(task, 'EXHAUSTED', reason)
  }

  #goOn(task: Task, ruling: Ruling, entry: HistoryEntry): void {
    const { runner } = this.#state
    const { host } = runner
    const { kind, why, attempts } = ruling
    task.attemptNumber = attempts
    task.lease = undefined
    this.#state.leased.delete(task.taskId)
    task.status = 'PENDING'
    task.nextAttemptAt = kind === 'parked' ? null : host.now() + (why?.delayMs ?? 0)
    if (task.record) task.record = { ...task.record, status: 'PENDING', attemptNumber: task.attemptNumber }
    this.#state.remember(task)
    host.changed?.(task)
    if (ruling.sent) runner.announcer.answerDeferred(task)
    runner.putAside(task)
    reportFollowUp(entry, ruling, host, task, runner)
    // its principal may have left meanwhile
    if (waitsInVain(task, host)) this.#callers.endWait(task)
    else this.#callers.waitsAgain(task)
  }

  /** Forgets a task that another process has by now. */
  #lost(task: Task): void {
    task.lease = undefined
    this.#state.leased.delete(task.taskId)
    task.status = 'PENDING'
    this.#state.remember(task)
    this.#state.runner.host.changed?.(task)
    this.#state.runner.putAside(task)
    if (this.#state.find(task.taskId)) this.#callers.lookSoon(task)
    this.#callers.waitsAgain(task)
  }
}

/** A ruling in the words of a store. */
function settlementOf({ kind, reason, cause, seeOther, why }: Ruling): Settlement['next'] {
  if (kind === 'succeeded') return { kind }
  if (reason) return { kind: 'exhausted', reason, ...(seeOther === undefined ? {} : { marks: MARK_SEE_OTHER }) }
  // its end was asked for: the store ends it whatever it is told
  if (!why) return { kind: 'release', delayMs: 0, refund: false }
  const { delayMs, serverMs, phase, previousDelayMs, marks, refunded: refund } = why
  const carry: Carry = { phase, previousDelayMs, marks }
  if (kind === 'retry') return { kind, delayMs, serverMs, carry }
  const park = kind === 'parked'
  // for a store that cannot park
  const waitMs = park ? Math.max(delayMs, PARKED_MS) : delayMs
  return {
    kind: 'release',
    delayMs: waitMs,
    refund,
    ...(cause === 'offline' && { offline: true }),
    serverMs,
    carry,
    park,
  }
}
