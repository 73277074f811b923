/** The operator of the service: pauses an origin now and then, lifts it, and puts dead letters back, one by one and all at once. */

import { chance } from '../options.ts'
import { until, wait } from '../runner.ts'
import { type Asked, ask, type Told } from './ask.ts'
import { type Call, wordsOf } from './clients.ts'
import type { Fleet } from './fleet.ts'
import type { Note } from './history.ts'

/** A pause, as its operator knows it. */
export interface PauseSpan {
  readonly origin: string
  /** When its answer had come, and when its end was asked for. */
  readonly from: number
  until: number
}

/** Longer than what is on its way when a pause is answered. */
const PAUSE_MS = 3_000
/** Between two of its acts; the first comes soon, so that a short run has one. */
const BETWEEN_MS: readonly [least: number, most: number] = [1_000, 3_000]
const FIRST_MS = 300
const AGAIN_MS = 200
/** No process has answered for minutes: none will. */
const MOST_TRIES = 600
const OPERATION_MS = 60_000
const LOOK_MS = 200
const PAGE = 1_000

export interface OperatorOptions {
  readonly fleet: Fleet
  readonly targets: readonly string[]
  readonly seed: number
  readonly note: Note
}

export class Operator {
  readonly pauses: PauseSpan[] = []
  readonly calls: Call[] = []
  /** Redrives that were asked for and may have been done, by task: one by one, and each of all. */
  readonly redriven = new Map<string, number>()
  /** Operations that did not end as they should. */
  readonly failed: string[] = []
  readonly #options: OperatorOptions
  readonly #random: () => number
  #isOver = false
  #working: Promise<void> = Promise.resolve()

  constructor(options: OperatorOptions) {
    this.#options = options
    this.#random = chance(options.seed ^ 0x09e7)
  }

  begin(): void {
    this.#working = this.#work()
    // `end` tells of it
    this.#working.catch(() => {})
  }

  /** Resolves once nothing is paused. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#working
  }

  async #work(): Promise<void> {
    const [least, most] = BETWEEN_MS
    for (let turn = 0; !this.#isOver; turn++) {
      await wait(turn === 0 ? FIRST_MS : least + this.#random() * (most - least))
      if (this.#isOver) return
      if (turn % 2 === 0) await this.#pause()
      else await this.#redriveOne()
    }
  }

  async #pause(): Promise<void> {
    const { targets } = this.#options
    const origin = targets[Math.floor(this.#random() * targets.length)] as string
    const { json } = await this.#insist({ method: 'POST', path: '/pauses', body: { origin, reason: 'a test' } })
    const pause: PauseSpan = { origin, from: Date.now(), until: Number.POSITIVE_INFINITY }
    this.pauses.push(pause)
    await wait(PAUSE_MS)
    pause.until = Date.now()
    const { pauseId } = json as { readonly pauseId: string }
    // 404: it was lifted by the one whose answer was lost
    await this.#insist({ method: 'DELETE', path: `/pauses/${pauseId}` })
  }

  /** One dead letter, the youngest. */
  async #redriveOne(): Promise<void> {
    const { json } = await this.#insist({ method: 'GET', path: '/dead-letters?limit=1' })
    const [task] = (json as { readonly tasks: readonly { readonly taskId: string }[] }).tasks
    if (!task) return
    const { taskId } = task
    this.#mark([taskId])
    const asked: Asked = { method: 'POST', path: `/dead-letters/${taskId}/redrive`, body: {} }
    const at = this.#options.fleet.pick()
    if (!at) return
    const askedAt = Date.now()
    const told = await ask(at.url, asked, at.agent)
    const words = wordsOf(told)
    const call: Call = { kind: 'redrive', intent: taskId, life: at.name, askedAt, endedAt: Date.now(), ...words }
    this.calls.push(call)
    this.#options.note('operator', call.outcome, call)
  }

  /** All dead letters, by an operation. Resolves with how many there were, once it is done. */
  async redriveAll(): Promise<number> {
    const { json } = await this.#insist({ method: 'GET', path: `/dead-letters?limit=${PAGE}` })
    const ids = (json as { readonly tasks: readonly { readonly taskId: string }[] }).tasks.map(({ taskId }) => taskId)
    if (ids.length === 0) return 0
    this.#mark(ids)
    const asked = { method: 'POST', path: '/dead-letters/redrive', body: { filter: {} } }
    const begun = await this.#insist(asked)
    // 409: the one whose answer was lost is running, and its id is told
    const { operationId } = begun.json as { readonly operationId: string }
    let last = ''
    const deadline = Date.now() + OPERATION_MS
    const isDone = async () => {
      const { json } = await this.#insist({ method: 'GET', path: `/operations/${operationId}` })
      last = JSON.stringify(json)
      return (json as { readonly status: string }).status === 'DONE'
    }
    if (!(await until(isDone, () => Date.now() > deadline, LOOK_MS))) this.failed.push(last)
    return ids.length
  }

  #mark(ids: readonly string[]): void {
    for (const id of ids) this.redriven.set(id, (this.redriven.get(id) ?? 0) + 1)
  }

  /** Asks one process after another until one answers. */
  async #insist(asked: Asked): Promise<Extract<Told, { kind: 'answered' }>> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const at = this.#options.fleet.pick()
      const told = at && (await ask(at.url, asked, at.agent))
      if (told) this.#options.note('operator', told.kind, { ...asked, life: at?.name, told })
      if (told?.kind === 'answered' && told.status !== 503) return told
      await wait(AGAIN_MS)
    }
    throw new Error(`no process answers ${asked.method} ${asked.path}`)
  }
}
