/**
 * Group commit: enqueues that arrive together share one transaction, and are answered once the disk has it. Where one fails each is done alone, so that one fails alone, unless it is the file that fails.
 *
 * Principals have equal parts of it by tasks (self-clocked fair queuing: Golestani, INFOCOM 1994), so that a call of one task does not wait
 * behind those of another's hundreds. Those of one principal stay in order.
 */

import { RedriveError } from '../../api/errors.ts'
import { ENDED_BYTES, type Enqueued, type NewTask } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runNow } from '../engine/step.ts'
import type { StoreFile } from './file.ts'

/** Most tasks of one transaction, but for a call that has more by itself: all else of the process waits meanwhile. */
const MOST = 32

interface Waiting extends Batch {
  readonly calledAt: number
  /** The turn at which it is done: its tasks after those that its principal has here, and no earlier than the last that was done. */
  readonly turn: number
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

export class EnqueueGroup {
  readonly #file: StoreFile
  readonly #clock: Clock
  /** By their turns. */
  #waiting: Waiting[] = []
  /** The turn of the last that was done. */
  #turn = 0
  /** The turn of the last call of each principal that has any here. */
  readonly #last = new Map<string | null, number>()
  /** The commit under way, and those after it that take what waits. Never rejects. */
  #commits: Promise<void> | undefined
  /** The answers of all that was committed. Never rejects. */
  #answers: Promise<void> = Promise.resolve()

  constructor(file: StoreFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** `calledAt`: when the caller asked, on the monotonic clock. */
  add(tasks: Batch['tasks'], lease: Batch['lease'], calledAt: number): Promise<readonly Enqueued[]> {
    const principal = tasks[0]?.principal ?? null
    const turn = (this.#last.get(principal) ?? this.#turn) + tasks.length
    this.#last.set(principal, turn)
    return new Promise((resolve, reject) => {
      const at = this.#waiting.findLastIndex((other) => other.turn <= turn)
      this.#waiting.splice(at + 1, 0, { tasks, lease, calledAt, turn, resolve, reject })
      this.#commits ??= this.#run()
    })
  }

  /** Resolves when nothing waits, and all has its answer. */
  async commitAll(): Promise<void> {
    await this.#commits
    await this.#answers
  }

  /** Does what comes first, and lets others run before it does the rest. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate)
      await this.commitFirst()
    }
    this.#commits = undefined
  }

  /** Does what comes first: a turn that is made now can claim it, though the disk may not have it yet. Never rejects. */
  async commitFirst(): Promise<void> {
    let [count, tasks] = [0, 0]
    for (const waiting of this.#waiting) {
      tasks += waiting.tasks.length
      if (count > 0 && tasks > MOST) break
      this.#turn = Math.max(this.#turn, waiting.turn)
      count++
    }
    const first = this.#waiting.splice(0, count)
    for (const [principal, last] of this.#last) if (last <= this.#turn) this.#last.delete(principal)
    if (first.length > 0) await this.#commit(first)
  }

  /** With times from the call on: a task is not to be late for the wait of its commit. */
  readonly #asCalled = ({ tasks, lease, calledAt }: Waiting): Batch => {
    const waitedMs = Math.floor(this.#clock.monotonic() - calledAt)
    return { lease, tasks: waitedMs < 1 ? tasks : tasks.map((task) => sooner(task, waitedMs)) }
  }

  async #commit(batches: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#file.writeNew(
        (tx) => runNow(enqueue(tx, batches.map(this.#asCalled))),
        bytesOf(batches),
      )
      const answers = this.#answer(batches, outcomes)
      this.#answers = this.#answers.then(() => answers)
    } catch (error) {
      const isOfFile = error instanceof RedriveError
      if (batches.length > 1 && !isOfFile) for (const one of batches) await this.#commit([one])
      else for (const { reject } of batches) reject(error)
    }
  }

  async #answer(batches: readonly Waiting[], outcomes: readonly (readonly Enqueued[])[]): Promise<void> {
    try {
      await this.#file.lasts()
      for (const [i, { resolve }] of batches.entries()) resolve(outcomes[i] ?? [])
    } catch (error) {
      for (const { reject } of batches) reject(error)
    }
  }
}

const bytesOf = (batches: readonly Batch[]): number =>
  batches.flatMap(({ tasks }) => tasks).reduce((sum, { body }) => sum + ENDED_BYTES + (body?.byteLength ?? 0), 0)

/** One that was to wait waits a millisecond at least: with a lease it would start at once otherwise, which was not asked for. */
const sooner = (task: NewTask, byMs: number): NewTask => ({
  ...task,
  dueInMs: task.dueInMs > 0 ? Math.max(1, task.dueInMs - byMs) : 0,
  deadlineInMs: Math.max(0, task.deadlineInMs - byMs),
  ageMs: (task.ageMs ?? 0) + byMs,
})
