/**
 * Tells the ends of tasks to those who asked for it: each end becomes a task of its own, a POST to the callback's URL, which is stored, tried
 * again and given up like any other. The store notes an end in the step that ends the task, and forgets it only once its callback is
 * stored; a process that is killed between the two leaves it to the next look of any process. The id of a callback is made of the end it tells,
 * so that twice is once.
 */

import { hash } from 'node:crypto'
import { type Clock, presets } from 'redrive'
import { deadlineOf, FOREVER, type ResolvedPolicy, utf8 } from 'redrive/internal'
import {
  type Enqueued,
  laneName,
  type NewTask,
  PLAIN_SCHEMA,
  type StoredTask,
  schemaOf,
  type Untold,
} from 'redrive/store'
import type { ApiStore } from './api/context.ts'
import { type Dropping, dropBody } from './api/drop-body.ts'
import { endOf } from './api/ends.ts'
import { tagsIn } from './api/new-task.ts'
import type { Policies } from './api/policies.ts'
import { type Callback, type SenderData, senderDataOf } from './sending.ts'

/** Ends that are reported in one step. */
const PAGE = 64
/** Ends that the store has no room for, behind which others are looked for: another partition may have room. */
const MOST_STUCK = 1_024
/** Between two looks of a process that hears of no end: those of another process, or of a store that was away. */
const LOOK_MS = 5_000
/** Between two looks while the store has no room. Each turn tells of ends that wait, and to look for them costs the more the more they are. */
const STUCK_MS = 1_000

const CALLBACK_POLICY = 'callbacks'

/** The policy that is registered as `callbacks`, else the preset for webhooks, whose receivers may fail in any passing way: they know each end by its key. */
export const callbackPolicy =
  (policies: Policies) =>
  async (tenant: string | null): Promise<ResolvedPolicy> => {
    const registered = await policies.get(CALLBACK_POLICY, tenant)
    if (registered) return policies.resolve(CALLBACK_POLICY, tenant, undefined)
    return policies.resolve(presets.svix.policyId, tenant, { retryableStatusCodes: 'broad' })
  }

export interface CallbacksOptions extends Dropping {
  readonly store: ApiStore
  readonly clock: Clock
  /** The policy of a tenant's callbacks, as it is now. */
  policy(tenant: string | null): Promise<ResolvedPolicy>
  /** Stores callbacks. */
  enqueue(tasks: readonly NewTask[]): Promise<readonly Enqueued[]>
  /** Hears what became of an end that was to be reported. */
  told(outcome: CallbackOutcome): void
  /** Hears how many are left after a look. */
  left(count: number): void
}

/** 'full': the store has no room now, and it is reported later. 'unreadable': its record says nothing that can be reported. */
export type CallbackOutcome = 'stored' | 'unwanted' | 'full' | 'unreadable'

export class Callbacks {
  readonly #options: CallbacksOptions
  #disarm: (() => void) | undefined
  #ticking: Promise<void> | undefined
  #isAsked = false
  /** The last look has left some for want of room. */
  #isStuck = false
  #isStarted = false

  constructor(options: CallbacksOptions) {
    this.#options = options
  }

  /** Looks by itself from now on. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#arm(0)
  }

  /** Resolves when the step under way is done. */
  async stop(): Promise<void> {
    this.#isStarted = false
    this.#disarm?.()
    await this.#ticking
  }

  /** An end is to be reported: looks at once, or once more after the look under way. Where there was no room at the last look, it can wait. */
  look(): void {
    this.#isAsked = true
    if (this.#isStarted && !this.#ticking && !this.#isStuck) {
      this.#disarm?.()
      this.#arm(0)
    }
  }

  /** Tells all that there is room for. Faults of the store are logged: what is unreported is reported when it answers. */
  tick(): Promise<void> {
    this.#ticking ??= this.#round().finally(() => {
      this.#ticking = undefined
    })
    return this.#ticking
  }

  /** Reports the ends of these tasks that are to be reported and have room, whatever waits before them. Rejects with faults of the store. */
  async tell(taskIds: readonly string[]): Promise<void> {
    const ends = await this.#options.store.untold(taskIds.length, taskIds)
    await this.#tell(ends)
  }

  #arm(delayMs: number): void {
    if (!this.#isStarted) return
    this.#disarm = this.#options.clock.after(
      delayMs,
      () => void this.tick().then(() => this.#arm(this.#isStuck ? STUCK_MS : this.#isAsked ? 0 : LOOK_MS)),
      delayMs > 0,
    )
  }

  async #round(): Promise<void> {
    const stuck = new Set<string>()
    try {
      this.#isAsked = false
      this.#isStuck = false
      while (stuck.size < MOST_STUCK) {
        const asked = PAGE + stuck.size
        const found = await this.#options.store.untold(asked)
        const ends = found.filter(({ task }) => !stuck.has(task.taskId))
        for (const taskId of await this.#tell(ends)) stuck.add(taskId)
        if (found.length < asked) break
      }
      this.#isStuck = stuck.size > 0
      this.#options.left(stuck.size)
    } catch (error) {
      const { log, sanitizer } = this.#options
      log({ event: 'error', what: 'callbacks', message: sanitizer.message(error) })
    }
    if (stuck.size > 0) this.#options.log({ event: 'error', what: 'callbacks', message: NO_ROOM, count: stuck.size })
  }

  /** The ids of those for which there is no room. */
  async #tell(ends: readonly Untold[]): Promise<readonly string[]> {
    if (ends.length === 0) return []
    const { store, told } = this.#options
    const made = await Promise.all(ends.map((end) => this.#taskOf(end)))
    const outcomes = await this.#stored(made)
    for (const outcome of outcomes) told(outcome)
    const done = ends.filter((_, i) => outcomes[i] !== 'full')
    // a dead letter keeps its body, since it may be put back
    const over = done.filter(({ task }) => task.status !== 'EXHAUSTED')
    await Promise.all(over.map(({ task }) => dropBody(task, this.#options)))
    if (done.length > 0) await store.told(done.map(({ task, endedAt }) => ({ taskId: task.taskId, endedAt })))
    return ends.flatMap(({ task }, i) => (outcomes[i] === 'full' ? task.taskId : []))
  }

  async #stored(made: readonly (NewTask | CallbackOutcome)[]): Promise<readonly CallbackOutcome[]> {
    const tasks = made.filter((each): each is NewTask => typeof each === 'object')
    const said = (await this.#enqueued(tasks)).values()
    return made.map((each) => (typeof each === 'string' ? each : (said.next().value as CallbackOutcome)))
  }

  /** Where the store refuses the call for what one of them is, they are asked about one by one: none is to keep the others back. */
  async #enqueued(tasks: readonly NewTask[]): Promise<readonly CallbackOutcome[]> {
    if (tasks.length === 0) return []
    const { enqueue, log, sanitizer } = this.#options
    try {
      const said = await enqueue(tasks)
      return said.map(({ outcome }) => (outcome === 'full' ? 'full' : 'stored'))
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error
      if (tasks.length > 1) return (await Promise.all(tasks.map((task) => this.#enqueued([task])))).flat()
      log({ event: 'error', what: 'callback', message: sanitizer.message(error) })
      return ['unreadable']
    }
  }

  async #taskOf(end: Untold): Promise<NewTask | CallbackOutcome> {
    const { task } = end
    let callback: Callback | undefined
    try {
      ;({ callback } = senderDataOf(task))
    } catch (error) {
      this.#options.log({
        ...{ event: 'error', what: 'callback', taskId: task.taskId },
        message: this.#options.sanitizer.message(error),
      })
      return 'unreadable'
    }
    const as = endOf(task.status)
    if (!callback || !as || !callback.on.includes(as)) return 'unwanted'
    const { store, policy, clock } = this.#options
    const { attempts } = await store.attempts(task.taskId, { limit: 100 })
    const data = this.#dataOf(task, attempts.at(-1)?.responseStatus ?? null)
    const body = JSON.stringify({ type: `task.${as}`, timestamp: new Date(end.endedAt).toISOString(), data })
    return callbackTask(end, callback, utf8(body), await policy(task.principal), clock.now())
  }

  #dataOf(task: StoredTask, lastStatus: number | null): object {
    const { taskId, idempotencyKey, method, targetUrl, principal, attemptNumber, reason } = task
    const tags = tagsIn(task.tags)
    return {
      ...{ taskId, idempotencyKey, tenant: principal, method, targetUrl: this.#options.sanitizer.url(targetUrl) },
      ...{ attemptNumber, lastStatus },
      ...(reason && { reason }),
      ...(tags && { tags }),
    }
  }
}

const NO_ROOM = 'the store has no room for callbacks: they are made when tasks have ended'

/** The task that tells an end. Of one end it is always the same, but for its policy. */
function callbackTask(
  { task, endedAt }: Untold,
  { url, signing }: Callback,
  body: Uint8Array,
  policy: ResolvedPolicy,
  now: number,
): NewTask {
  const { principal } = task
  const senderData: SenderData | undefined = signing === undefined ? undefined : { signing }
  const { deadlineAt, deadlineReason } = deadlineOf(policy, { budgetAt: now, keyAt: now, expiresAt: FOREVER })
  return {
    taskId: idOf(task.taskId, endedAt),
    idempotencyKey: `cb-${task.taskId}-${Math.trunc(endedAt)}`,
    fingerprint: hash('sha256', Buffer.concat([utf8(`POST ${url}\n`), body]), 'hex'),
    method: 'POST',
    targetUrl: url,
    headers: { 'content-type': 'application/json' },
    withheldHeaders: [],
    requestInit: {},
    body,
    lane: laneName(principal, new URL(url).origin),
    principal,
    policy,
    deadlineInMs: deadlineAt - now,
    deadlineReason,
    dueInMs: 0,
    attemptNumber: 0,
    phase: -1,
    previousDelayMs: 0,
    priority: 0,
    home: null,
    tags: [`callback-of=${task.taskId}`],
    // its tenant may have dead letters alone, of which each is to be told
    quotaExempt: true,
    ...(senderData && { senderData }),
    schema: senderData ? schemaOf({ senderData }) : PLAIN_SCHEMA,
  }
}

/** A UUIDv7 (RFC 9562, 5.7) of the instant of the end; its random part is a digest of the task and the end. */
function idOf(taskId: string, endedAt: number): string {
  const time = Math.trunc(endedAt).toString(16).padStart(12, '0')
  const digest = hash('sha256', `callback ${taskId} ${endedAt}`, 'hex')
  const variant = (8 | (Number.parseInt(digest.slice(0, 1), 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digest.slice(1, 4)}-${variant}${digest.slice(4, 7)}-${digest.slice(7, 19)}`
}
