/**
 * Group commit: enqueues that arrive together share one transaction, and with it the one wait for the disk that is most of
 * their cost. Where one fails each is done alone, so that one fails alone, unless it is the file that fails.
 */

import { RedriveError } from '../../api/errors.ts'
import type { Enqueued, NewTask } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Batch, enqueue } from '../engine/enqueue.ts'
import { runNow } from '../engine/step.ts'
import type { StoreFile } from './file.ts'

/** Most calls of one transaction: thousands at once would keep all else from running for as long as they take. */
const MOST = 128

interface Waiting extends Batch {
  readonly calledAt: number
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

export class EnqueueGroup {
  readonly #file: StoreFile
  readonly #clock: Clock
  #waiting: Waiting[] = []
  /** The commit under way, and those after it that take what waits. Never rejects. */
  #commits: Promise<void> | undefined

  constructor(file: StoreFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** `calledAt`: when the caller asked, on the monotonic clock. */
  add(tasks: Batch['tasks'], lease: Batch['lease'], calledAt: number): Promise<readonly Enqueued[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, lease, calledAt, resolve, reject })
      this.#commits ??= this.#run()
    })
  }

  /** Resolves when nothing waits. */
  async commitAll(): Promise<void> {
    await this.#commits
  }

  /** Does what comes first, and lets others run before it does the rest. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate)
      const [first, rest] = inTurns(this.#waiting)
      this.#waiting = rest
      await this.#commit(first)
    }
    this.#commits = undefined
  }

  /** With times from the call on: a task is not to be late for the wait of its commit. */
  readonly #asCalled = ({ tasks, lease, calledAt }: Waiting): Batch => {
    const waitedMs = Math.floor(this.#clock.monotonic() - calledAt)
    return { lease, tasks: waitedMs < 1 ? tasks : tasks.map((task) => sooner(task, waitedMs)) }
  }

  async #commit(batches: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#file.write((tx) => runNow(enqueue(tx, batches.map(this.#asCalled))), {
        durable: true,
      })
      for (const [i, { resolve }] of batches.entries()) resolve(outcomes[i] ?? [])
    } catch (error) {
      const isOfFile = error instanceof RedriveError
      if (batches.length > 1 && !isOfFile) for (const one of batches) await this.#commit([one])
      else for (const { reject } of batches) reject(error)
    }
  }
}

/** Up to `MOST`, and the rest. Principals take turns, so that a call does not wait behind hundreds of another's; those of one stay in order. */
function inTurns(waiting: Waiting[]): readonly [first: readonly Waiting[], rest: Waiting[]] {
  if (waiting.length <= MOST) return [waiting, []]
  const counts = new Map<string | null, number>()
  const turnOf = ({ tasks: [task] }: Waiting): number => {
    const principal = task?.principal ?? null
    const turn = counts.get(principal) ?? 0
    counts.set(principal, turn + 1)
    return turn
  }
  const turns = new Map(waiting.map((one) => [one, turnOf(one)]))
  const first = [...turns].sort(([, a], [, b]) => a - b).slice(0, MOST)
  for (const [one] of first) turns.delete(one)
  return [first.map(([one]) => one), [...turns.keys()]]
}

/** One that was to wait waits a millisecond at least: with a lease it would start at once otherwise, which was not asked for. */
const sooner = (task: NewTask, byMs: number): NewTask => ({
  ...task,
  dueInMs: task.dueInMs > 0 ? Math.max(1, task.dueInMs - byMs) : 0,
  deadlineInMs: Math.max(0, task.deadlineInMs - byMs),
  ageMs: (task.ageMs ?? 0) + byMs,
})
