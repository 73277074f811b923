/** Answers questions about stored tasks, and carries out orders to them. */

import type { PageOptions, TaskOutcome, TaskPage } from '../api/methods.ts'
import { notFound } from '../api/not-found.ts'
import { originIn, type StoredTask, type TaskStore } from '../api/store.ts'
import type { AttemptLog, Decision, Gate, RetryTask, TaskStatus } from '../api/task.ts'
import type { GateStatus } from '../core/calls.ts'
import { backgroundOf } from '../options/background.ts'
import { FOREVER } from '../platform/clock.ts'
import { unparkedBy } from '../runner/credentials.ts'
import { keyExpired } from '../runner/refusals.ts'
import type { Aside, StoredFilter, StoredManager, WordsModule } from '../runner/stored.ts'
import { isInScope, type TaskScope } from '../runner/task-scope.ts'
import { isLive } from '../stores/engine/row.ts'
import { isSoundTask, soundLog } from '../stores/engine/sound.ts'
import { cancelled, whenEnded } from '../tasks/callers.ts'
import { lacking, optionsOf } from './needs.ts'
import { showRecord } from './record.ts'
import type { StoredState } from './state.ts'
import type { StoredTasks } from './stored-tasks.ts'

const PAGE = 100
const ofOne = (of: TaskScope): { readonly principal?: string | null } => (of === undefined ? {} : { principal: of })

export class StoredTaskManager implements StoredManager {
  readonly #tasks: StoredTasks
  readonly #state: StoredState
  readonly #store: TaskStore

  constructor(tasks: StoredTasks) {
    this.#tasks = tasks
    this.#state = tasks.state
    this.#store = tasks.state.store
  }

  async get(taskId: string, of: TaskScope): Promise<RetryTask | undefined> {
    const record = await this.#record(taskId, of)
    return record && this.#show(record)
  }

  async attempts(
    taskId: string,
    { limit = PAGE, cursor }: PageOptions,
    of: TaskScope,
  ): Promise<{ attempts: readonly AttemptLog[]; cursor?: string }> {
    if (of !== undefined && !(await this.#record(taskId, of))) return { attempts: [] }
    const page = await this.#store.attempts(taskId, { limit, ...(cursor === undefined ? {} : { cursor }) })
    return { ...page, attempts: page.attempts.filter(soundLog) }
  }

  async explain(taskId: string, of: TaskScope, words: WordsModule): Promise<readonly Decision[]> {
    const record = await this.#record(taskId, of)
    if (!record) return []
    const history = await this.#store.history?.(taskId)
    const known = (history ?? (await this.#store.attempts(taskId, { limit: PAGE })).attempts).filter(soundLog)
    return explainStored(this.#show(record), record, known, this.#tasks, words)
  }

  async list(filter: StoredFilter, { limit = PAGE, cursor: from }: PageOptions, of: TaskScope): Promise<TaskPage> {
    const tasks: RetryTask[] = []
    for (let cursor = from; ; ) {
      const rest = { limit: limit - tasks.length, ...(cursor === undefined ? {} : { cursor }) }
      const page = await this.#store.list({ ...filter, ...ofOne(of), ...rest })
      tasks.push(...page.tasks.filter(isSoundTask).map((record) => this.#show(record)))
      cursor = page.cursor
      if (cursor === undefined) return { tasks }
      // a store may have found less than there is
      if (tasks.length === limit) return { tasks, cursor }
    }
  }

  async result(taskId: string, of: TaskScope): Promise<TaskOutcome> {
    const record = await this.#record(taskId, of)
    if (!record) throw notFound(taskId)
    if (!isLive(record)) return this.#tasks.callers.outcome(record)
    const task = this.#state.taskOf(record)
    const ended = whenEnded(task)
    this.#tasks.callers.follow(task)
    return ended
  }

  async cancel(taskId: string, of: TaskScope): Promise<'cancelled' | 'requested' | 'gone'> {
    const here = this.#state.find(taskId)
    const isSeen = here ? isInScope(of, here) : of === undefined || (await this.#record(taskId, of))
    return isSeen ? this.#tasks.cancel(taskId) : 'gone'
  }

  async clear(of: TaskScope): Promise<number> {
    // what is on its way into the store waits as well
    await this.#state.pending.answered()
    let cleared = 0
    for (const taskId of await this.#ids('PENDING', of)) {
      // begun meanwhile, it goes on
      const record = await this.#record(taskId, of)
      if (record?.status === 'PENDING' && (await this.#tasks.cancel(taskId)) !== 'gone') cleared++
    }
    return cleared
  }

  async redrive(taskId: string, acceptDuplicateRisk: boolean, of: TaskScope): Promise<RetryTask> {
    if (of !== undefined && !(await this.#record(taskId, of))) throw notFound(taskId)
    const { said, records } = await this.#redrive([taskId], acceptDuplicateRisk, true)
    const [record] = records
    if (said[0] === 'key_expired') throw keyExpired(taskId)
    if (!record) throw notFound(taskId)
    return this.#show(record)
  }

  async redriveSome(taskIds: readonly string[], acceptDuplicateRisk: boolean): Promise<number> {
    const { said } = await this.#redrive(taskIds, acceptDuplicateRisk, false)
    return said.filter((each) => each === 'redriven').length
  }

  deadIds(of: TaskScope): Promise<readonly string[]> {
    return this.#ids('EXHAUSTED', of)
  }

  async #ids(status: TaskStatus, of: TaskScope): Promise<readonly string[]> {
    const ids: string[] = []
    for await (const { taskId } of this.#records(status, of)) ids.push(taskId)
    return ids
  }

  async *dead(of: TaskScope): AsyncIterable<RetryTask & { readonly attempts: readonly AttemptLog[] }> {
    for await (const record of this.#records('EXHAUSTED', of)) {
      const { attempts } = await this.#store.attempts(record.taskId, { limit: PAGE })
      yield { ...this.#show(record), attempts: attempts.filter(soundLog) }
    }
  }

  async purgeDead(taskId: string | undefined, of: TaskScope): Promise<number> {
    const one = taskId === undefined ? {} : { taskId }
    const purged = await this.#store.purge({ status: 'EXHAUSTED', ...one, ...ofOne(of) })
    if (purged > 0) this.#state.runner.host.changed?.(taskId === undefined ? { others: true } : { taskId })
    await this.#tasks.counts.recount()
    return purged
  }

  /** Deletes everything of a principal; what is in flight is aborted. */
  async purge(principal: string | null): Promise<number> {
    // what is on its way into the store is to be among it; nothing more of this principal comes
    await this.#state.pending.answered()
    const purged = await this.#store.purge({ principal })
    this.#state.runner.host.changed?.({ others: true })
    this.#forget(principal)
    await this.#tasks.counts.recount()
    return purged
  }

  /** Records that the store has put aside: their words and numbers, of which no text can hold a secret. */
  async *unreadable(): AsyncIterable<Aside> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.#store.unreadable?.({ limit: PAGE, ...(cursor ? { cursor } : {}) })
      for (const { taskId, fields } of page?.records ?? []) yield { taskId, fields: withoutTexts(fields) }
      if (page?.cursor === undefined) return
      cursor = page.cursor
    }
  }

  /** The task, if it can be read and is to be seen. */
  async #record(taskId: string, of: TaskScope): Promise<StoredTask | undefined> {
    const record = await this.#store.get(taskId)
    return record && isSoundTask(record) && isInScope(of, record) ? record : undefined
  }

  /** Ends the tasks of a principal here, after the store has purged them. */
  #forget(principal: string | null): void {
    for (const task of this.#state.all()) {
      if (task.principal !== principal) continue
      if (task.lease) {
        task.lease.lost = true
        this.#tasks.abort(task, cancelled())
      } else this.#tasks.purged(task)
    }
  }

  async *#records(status: TaskStatus, of: TaskScope): AsyncIterable<StoredTask> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.#store.list({
        status,
        ...ofOne(of),
        limit: PAGE,
        ...(cursor ? { cursor } : {}),
      })
      yield* page.tasks.filter(isSoundTask)
      if (page.cursor === undefined) return
      cursor = page.cursor
    }
  }

  /** Puts dead letters back under today's policies, since the old one may be why they were given up. `reads`: gives the records, too. */
  async #redrive(taskIds: readonly string[], acceptDuplicateRisk: boolean, reads: boolean) {
    const { pending, seen, runner } = this.#state
    const { events, settings } = runner.host
    const policies = [...settings.policies.values()].map(backgroundOf)
    for (const taskId of taskIds) pending.begin(taskId)
    try {
      const said = await this.#store.redrive(taskIds, { spacingMs: 0, acceptDuplicateRisk, policies })
      const back = taskIds.filter((_, i) => said[i] === 'redriven')
      const tells = events.has('queued')
      const records = await Promise.all(reads || tells ? back.map((taskId) => this.#store.get(taskId)) : [])
      for (const taskId of back) {
        seen.add(taskId)
        runner.host.changed?.({ taskId })
        this.#tasks.loop.taskStored()
      }
      if (tells) for (const record of records) if (record) events.emit('queued', { task: this.#show(record) })
      return { said, records }
    } finally {
      // also where the answer was lost: what a claim has brought is due, whichever process made it so
      for (const taskId of taskIds) pending.end(taskId, true)
      await this.#tasks.counts.recount()
      this.#tasks.workOffered()
    }
  }

  #show(record: StoredTask): RetryTask {
    return showRecord(record, this.#state.runner.sanitizer)
  }
}

const withoutTexts = (fields: Aside['fields']): Aside['fields'] =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'number' || value === null))

/** The decisions about a stored task: its history, then what it waits for now. Gates of other processes are not asked. */
function explainStored(
  task: RetryTask,
  record: StoredTask,
  history: readonly AttemptLog[],
  tasks: StoredTasks,
  { decisionsOf, waits, wordsOf }: WordsModule,
): readonly Decision[] {
  const now = tasks.state.runner.host.now()
  const last = history[history.length - 1]
  const decisions = decisionsOf(
    {
      ...task,
      what: `${task.method} ${task.targetUrl.split(/[?#]/, 1)[0]}`,
      hasKey: task.idempotencyKey !== null,
      endedAt: last ? last.startedAt + last.durationMs : task.createdAt,
    },
    history,
  )
  if (isLive(task)) {
    const status = gateStatusOf(record, tasks, now)
    const waiting = waits(status, record.attemptNumber, now)
    decisions.push({ ...waiting, text: `waits for ${textOf(status, record, tasks, wordsOf)}` })
  }
  return decisions
}

/** The gate that a task waits at: first what its record says, then its lane. */
function gateStatusOf(record: StoredTask, tasks: StoredTasks, now: number): GateStatus {
  const { status, parked, dueAt, principal } = record
  if (status === 'IN_FLIGHT') return at('in-flight')
  if (parked) return at('parked')
  if (lacking(record, tasks.state.runner.host.settings).length > 0) return at('needs')
  if (dueAt === null) return at('behind')
  if (tasks.guard.isForeign || tasks.state.runner.lanes.isOthers(principal)) return at('principal')
  if (dueAt > now) return at('due', dueAt)
  return laneStatus(record, tasks, now)
}

/** The gate that keeps a due task from an attempt at `now`, as far as this process knows its lane. */
function laneStatus({ principal, lane, attemptNumber }: StoredTask, { state }: StoredTasks, now: number): GateStatus {
  return state.runner.gates.statusOfLane(principal, originIn(lane), now, attemptNumber > 0) ?? at('ready')
}

function textOf(status: GateStatus, record: StoredTask, tasks: StoredTasks, wordsOf: WordsModule['wordsOf']): string {
  const { gate, until } = status
  const { host } = tasks.state.runner
  if (gate === 'in-flight') return `${wordsOf(status)}, here or in another process`
  if (gate === 'needs')
    return `a queue with ${optionsOf(lacking(record, host.settings))}, which this one does not have; one that has will send it`
  if (gate === 'ready') return 'a process with a free place (concurrency): it is due, and others may hold the places'
  if (gate === 'parked') return `${unparkedBy(host)}, since its credentials are missing or were refused`
  if (gate === 'principal' && tasks.guard.isLogin) return 'a login that is under way, here or in another tab'
  if (gate !== 'due') return wordsOf(status)
  // that the wait is over helps nothing where something keeps its origin for longer
  const then = laneStatus(record, tasks, until)
  const isShut = then.until > until && then.until < FOREVER
  return isShut ? `${wordsOf(status)}, and then ${wordsOf(then)}` : wordsOf(status)
}

const at = (gate: Gate, until: number = FOREVER): GateStatus => ({ gate, until, ahead: 0 })
