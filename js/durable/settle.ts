/** What becomes of a leased task once its attempt has ended: what the store says of it is told, never what the attempt alone has shown. */

import type { Settlement, Turn } from '../api/store.ts'
import { VERDICT } from '../core/codes.ts'
import { answer, outcomeOf } from '../tasks/callers.ts'
import { type HistoryEntry, showEntry } from '../tasks/history.ts'
import type { Ruling } from '../tasks/ruling.ts'
import type { Task } from '../tasks/task.ts'
import { tellGoesOn } from './notices.ts'
import { nextOf } from './settlement.ts'
import type { StoredTasks } from './stored-tasks.ts'
import type { LeaseStarter } from './take-lease.ts'

type GoesOn = Extract<Settlement['next'], { readonly delayMs: number }>

export class Settler {
  readonly #durable: StoredTasks
  readonly #leases: LeaseStarter

  constructor(durable: StoredTasks, leases: LeaseStarter) {
    this.#durable = durable
    this.#leases = leases
  }

  /** An attempt of a leased task has ended, and its slot is free. */
  settle(task: Task, ruling: Ruling): void {
    const { lease } = task
    task.slot = -1
    if (!lease) return
    const isLost = lease.lost || this.#durable.loop.terms.isOver(lease, this.#durable.runner.host.now())
    if (isLost && ruling.verdict !== VERDICT.succeeded) {
      // fenced off: whoever has it now decides, and if nobody has, it is to be taken back
      this.#lost(task)
      this.#durable.loop.requestTurn()
      return
    }
    const next = nextOf(ruling, lease)
    this.#leases.noteCarry(task, next)
    const due =
      'delayMs' in next && !('park' in next && next.park) ? this.#durable.runner.host.now() + next.delayMs : Number.NaN
    const kind = kindOf(next, ruling)
    const cause = kind === 'released' || kind === 'parked' ? this.#durable.runner.releaseCause(task, ruling) : undefined
    const entry = ruling.entry(kind, wordsOf(kind, next), kind === 'cancelled' ? Number.NaN : due, cause)
    task.log(entry)
    const settlement: Settlement = {
      lease: { taskId: task.taskId, token: lease.token, forMs: lease.forMs },
      log: showEntry(task.taskId, entry),
      ...(ruling.holdMs > 0 ? { holdLaneForMs: ruling.holdMs } : {}),
      next,
    }
    this.#durable.loop.addEnding({
      task,
      settlement,
      answered: (said) => this.#settled(task, ruling, settlement, said),
    })
  }

  #settled(task: Task, ruling: Ruling, { next }: Settlement, said: Turn['settled'][number]): void {
    task.attemptNumber = ruling.attemptNumber
    if (said === 'stale') this.#lost(task)
    else if (said === 'gone') this.purged(task)
    else if (said === 'cancelled') this.#durable.end(task, 'CANCELLED')
    else if (next.kind === 'succeeded') this.#durable.end(task, 'SUCCEEDED')
    else if (next.kind === 'exhausted') this.#durable.end(task, 'EXHAUSTED', next.reason)
    else this.#goOn(task, ruling, next)
  }

  #goOn(task: Task, ruling: Ruling, next: GoesOn): void {
    const { runner } = this.#durable
    const { host } = runner
    const parked = next.kind === 'release' && next.park === true
    if (next.kind === 'release' && next.refund) task.attemptNumber--
    task.lease = undefined
    this.#durable.loop.leased.delete(task.taskId)
    task.status = 'PENDING'
    task.nextAttemptAt = parked ? null : host.now() + next.delayMs
    if (task.record) task.record = { ...task.record, status: 'PENDING', attemptNumber: task.attemptNumber }
    this.#durable.remember(task)
    tellGoesOn(runner, task, ruling, next.delayMs)
    this.#durable.callers.waitsAgain(task)
  }

  /** Others have it now. */
  #lost(task: Task): void {
    task.lease = undefined
    this.#durable.loop.leased.delete(task.taskId)
    task.status = 'PENDING'
    this.#durable.remember(task)
    if (this.#durable.find(task.taskId)) this.#durable.callers.lookSoon(task)
    this.#durable.callers.waitsAgain(task)
  }

  /** It is not in the store any more. */
  purged(task: Task): void {
    this.#durable.leave(task)
    task.status = 'CANCELLED'
    const outcome = outcomeOf(task, this.#durable.runner.show(task))
    answer(task, () => outcome.error)
    task.outcome?.resolve(outcome)
    task.outcome = undefined
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
