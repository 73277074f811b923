// The senders of the live page, each with the page's server as its `fetch` and no other option. Imported by that page alone, since it brings
// ky and the queue.
import ky from 'ky'
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'
import { type Call, isOpen, type Lane, tenCalls } from './calls.ts'
import { LiveServer, type Mode } from './server.ts'

type Send = (path: string, init: { readonly signal: AbortSignal }) => Promise<Response>

const callAt = ({ calls }: Lane, url: string): Call | undefined =>
  calls.find(({ path }) => path === new URL(url).pathname)

export class Live {
  readonly #server = new LiveServer()
  readonly #queue: RetryQueue
  readonly #senders: readonly (readonly [Lane, Send])[]
  #round = new AbortController()
  #made = 0

  /** `degraded` hears what keeps the queue from its work. */
  constructor(plain: Lane, byKy: Lane, byRedrive: Lane, degraded: (message: string) => void) {
    this.#queue = new RetryQueue({ fetch: this.#fetchFor(byRedrive) })
    this.#queue.on('degraded', ({ message }) => degraded(message))
    this.#queue.on('retry', ({ task }) => {
      const call = callAt(byRedrive, task.targetUrl)
      if (call !== undefined) call.dueAt = task.nextAttemptAt ?? 0
    })
    this.#senders = [
      [plain, this.#fetchFor(plain)],
      [byKy, ky.create({ fetch: this.#fetchFor(byKy) })],
      [byRedrive, wrapFetch(this.#queue)],
    ]
  }

  set mode(mode: Mode) {
    this.#server.mode = mode
  }

  /** Until when redrive makes no retry, even of calls whose time has come; epoch ms. */
  get shutUntilAt(): number {
    return this.#queue.stats().origins[location.origin]?.shutUntilAt ?? 0
  }

  /** Makes ten calls by each sender. Those of the round before are aborted. */
  callAll(): void {
    this.#round.abort()
    this.#round = new AbortController()
    for (const [lane, send] of this.#senders) {
      Object.assign(lane, { calls: tenCalls(this.#made), requests: 0, inVain: 0 })
      for (const call of lane.calls) void make(call, send, this.#round.signal)
    }
    this.#made += 10
  }

  async close(): Promise<void> {
    this.#round.abort()
    await this.#queue.close()
  }

  #fetchFor(lane: Lane): typeof fetch {
    return this.#server.fetchFor((url, event) => {
      const call = callAt(lane, url)
      if (call === undefined) return // of an earlier round
      if (event === 'failed') lane.inVain++
      if (event === 'sent') {
        lane.requests++
        call.requests++
      }
      // a request may end after its call, which was not going to wait for it
      if (isOpen(call)) call.state = event === 'sent' ? 'under way' : 'waits'
    })
  }
}

async function make(call: Call, send: Send, signal: AbortSignal): Promise<void> {
  const startedAt = Date.now()
  call.state = 'waits'
  const { ok, got } = await send(call.path, { signal }).then(
    ({ ok, status, statusText }) => ({ ok, got: `${status} ${statusText}` }),
    (error: Error) => ({ ok: false, got: `${error.name}: ${error.message}` }),
  )
  const count = `${call.requests} ${call.requests === 1 ? 'request' : 'requests'}`
  call.state = ok ? 'answered' : 'failed'
  call.words = `${call.state} after ${((Date.now() - startedAt) / 1_000).toFixed(1)} s and ${count}: ${got}`
}
