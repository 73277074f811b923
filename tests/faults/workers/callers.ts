/** Who calls the Worker, and what each was told: that is what a run is held to. */

import type { Edge } from '../../workers/harness/edge.ts'
import { PRINCIPALS, SHARDS } from './options.ts'

/** Calls of one request to the Worker. */
const A_REQUEST = 6
/** The caller's own attempt, then the object's. */
const OPTIONS = {
  inlineAttempts: 1,
  shards: SHARDS,
  policy: { strategy: 'fixed', initialDelayMs: 150, jitterType: 'NONE', maxAttempts: 100 },
} as const

export interface Accepted {
  readonly taskId: string
  readonly principal: string | null
}

export class Callers {
  /** Intent -> its task: answered 202. */
  readonly accepted = new Map<string, Accepted>()
  /** Answered by the API itself. */
  readonly done: string[] = []
  /** Told that it has failed. */
  readonly refused: string[] = []
  /** Told nothing: the process died under the call. */
  readonly unknown: string[] = []
  readonly #edge: Edge
  readonly #url: string
  readonly #tasks: number
  readonly #open = new Set<Promise<void>>()
  #made = 0

  constructor(edge: Edge, url: string, tasks: number) {
    this.#edge = edge
    this.#url = url
    this.#tasks = tasks
  }

  get isDone(): boolean {
    return this.#made === this.#tasks
  }

  /** Calls until this share of all has been made; hears of the answers later. */
  call(share: number): void {
    while (this.#made < Math.min(this.#tasks, Math.ceil(share * this.#tasks)) && this.#edge.isUp) {
      const at = this.#made
      const intents = Array.from({ length: Math.min(A_REQUEST, this.#tasks - at) }, (_, i) => `order-${at + i}`)
      this.#made += intents.length
      const principal = PRINCIPALS[(at / A_REQUEST) % PRINCIPALS.length] ?? null
      const open: Promise<void> = this.#request(intents, principal).finally(() => this.#open.delete(open))
      this.#open.add(open)
    }
  }

  async answered(): Promise<void> {
    await Promise.all(this.#open)
  }

  async #request(intents: readonly string[], principal: string | null): Promise<void> {
    const calls = intents.map((intent) => ({
      url: `${this.#url}/api/orders?intent=${intent}`,
      init: { method: 'POST', body: JSON.stringify({ intent }) },
    }))
    const given = await this.#edge.calls(calls, { ...OPTIONS, principal }).catch(() => undefined)
    intents.forEach((intent, at) => {
      const answer = given?.answers[at]
      if (!answer) this.unknown.push(intent)
      else if (answer.status === 202) this.accepted.set(intent, { taskId: JSON.parse(answer.body).taskId, principal })
      else if (answer.status === 200) this.done.push(intent)
      else this.refused.push(intent)
    })
  }
}
