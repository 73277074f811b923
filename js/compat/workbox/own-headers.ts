/**
 * The request of a stored task, for who sends it by himself: with its key, and with the headers that are not stored, which this process has in
 * memory, or `credentials` gives.
 */

import type { StoredTask } from '../../api/store.ts'
import { repeatableOf } from '../../call/fetch-repeat.ts'
import { callOf } from '../../durable/record.ts'
import type { QueueContext } from '../../runner/context.ts'
import { askFor, giverFor } from '../../runner/credentials.ts'

export class OwnHeaders {
  readonly #host: QueueContext
  #hears = false
  readonly #kept = new Map<string, readonly (readonly [name: string, value: string])[]>()

  constructor(host: QueueContext) {
    this.#host = host
  }

  keep(taskId: string, headers: Headers, names: readonly string[]): void {
    const kept = names.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    if (kept.length === 0) return
    if (!this.#hears) {
      this.#hears = true
      const forget = (ended: { readonly task: { readonly taskId: string } }) => this.#kept.delete(ended.task.taskId)
      for (const event of ['succeeded', 'exhausted', 'cancelled'] as const) this.#host.events.on(event, forget, true)
    }
    this.#kept.set(taskId, kept)
  }

  /** Rejects where `credentials` gives nothing, or too late. */
  async requestOf(record: StoredTask, body: Uint8Array | undefined): Promise<Request> {
    const call = callOf(record, body, this.#host.settings)
    const { init } = repeatableOf(call).asFetch()
    const headers = new Headers(call.headers)
    for (const [name, value] of this.#kept.get(record.taskId) ?? []) headers.set(name, value)
    for (const [name, value] of (await this.#given(record)) ?? []) headers.set(name, value)
    return new Request(record.targetUrl, { ...init, headers })
  }

  async #given(record: StoredTask): Promise<Headers | undefined> {
    const { settings } = this.#host
    const { targetUrl, principal, withheldHeaders } = record
    const give = giverFor(settings, { url: targetUrl })
    if (!give || withheldHeaders.length === 0) return undefined
    const { signal } = new AbortController()
    return askFor(this.#host, give, { url: targetUrl }, { principal, withheldHeaders, unauthorized: false, signal })
  }
}
