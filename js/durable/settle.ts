/** What becomes of a leased task once its attempt has ended: what the store says of it is told, never what the attempt alone has shown. */

import type { Settlement, Turn } from '../api/store.ts'
import { VERDICT } from '../core/codes.ts'
import { type HistoryEntry, showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import { tellGoesOn } from './notices.ts'
import { nextOf } from './settlement.ts'
import type { Endings, StoredState } from './state.ts'
import type { StoreLoop } from './store-loop.ts'
import type { LeaseStarter } from './take-lease.ts'
import type { WaitingCallers } from './waiting-callers.ts'

type GoesOn = Extract<Settlement['next'], { readonly delayMs: number }>

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
    const isLost = lease.lost || this.#loop.terms.isOver(lease, this.#state.runner.host.now())
    if (isLost && ruling.verdict !== VERDICT.succeeded) {
      // fenced off: whoever has it now decides, and if nobody has, it is to be taken back
      this.#lost(task)
      this.#loop.requestTurn()
      return
    }
    const next = nextOf(ruling, lease)
    this.#starter.noteCarry(task, next)
    const due =
      'delayMs' in next && !('park' in next && next.park) ? this.#state.runner.host.now() + next.delayMs : Number.NaN
    const kind = kindOf(next, ruling)
    const cause = kind === 'released' || kind === 'parked' ? this.#state.runner.releaseCause(task, ruling) : undefined
    const entry = ruling.entry(kind, wordsOf(kind, next), kind === 'cancelled' ? Number.NaN : due, cause)
    task.log(entry)
    const settlement: Settlement = {
      lease: { taskId: task.taskId, token: lease.token, forMs: lease.forMs },
      log: showEntry(task.taskId, entry),
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      next,
    }
    this.#loop.addEnding({
      task,
      settlement,
      answered: (said) => this.#settled(task, ruling, settlement, said),
    })
  }

  #settled(task: Task, ruling: Ruling, { next }: Settlement, said: Turn['settled'][number]): void {
    task.attemptNumber = ruling.attemptNumber
    if (said === 'stale') this.#lost(task)
    else if (said === 'gone') this.#endings.purged(task)
    else if (said === 'cancelled') this.#endings.end(task, 'CANCELLED')
    else if (next.kind === 'succeeded') this.#endings.end(task, 'SUCCEEDED')
    else if (next.kind === 'exhausted') this.#endings.end(task, 'EXHAUSTED', next.reason)
    else this.#goOn(task, ruling, next)
  }

  #goOn(task: Task, ruling: Ruling, next: GoesOn): void {
    const { runner } = this.#state
    const { host } = runner
    const parked = next.kind === 'release' && next.park === true
    if (next.kind === 'release' && next.refund) task.attemptNumber--
    task.lease = undefined
    this.#state.leased.delete(task.taskId)
    task.status = 'PENDING'
    task.nextAttemptAt = parked ? null : host.now() + next.delayMs
    if (task.record) task.record = { ...task.record, status: 'PENDING', attemptNumber: task.attemptNumber }
    this.#state.remember(task)
    tellGoesOn(runner, task, ruling, next.delayMs)
    this.#callers.waitsAgain(task)
  }

  /** Others have it now. */
  #lost(task: Task): void {
    task.lease = undefined
    this.#state.leased.delete(task.taskId)
    task.status = 'PENDING'
    this.#state.remember(task)
    if (this.#state.find(task.taskId)) this.#callers.lookSoon(task)
    this.#callers.waitsAgain(task)
  }
}

function kindOf(next: Settlement['next'], { verdict }: Ruling): HistoryEntry['kind'] {
  // its end was asked for: the store ends it whatever it is told
  if (verdict === VERDICT.cancelled) return 'cancelled'
  if (next.kind !== 'release') return next.kind
  if (next.park) return 'parked'
  return next.refund ? 'released' : 'retry'
}

function wordsOf(kind: HistoryEntry['kind'], next: Settlement['next']): string {
  if (next.kind === 'exhausted') return next.reason
  if (kind === 'parked') return 'parked until resume()'
  return kind === 'succeeded' || kind === 'cancelled' ? kind : 'next'
}
