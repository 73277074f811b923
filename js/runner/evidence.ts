/**
 * Signs that an attempt may go well now, beside the answers to this queue's own: a page comes into view or is clicked on, the browser is
 * online again, an origin has answered here or in another tab. What waits for its own delay is due then; gates and limits still hold.
 *
 * Tabs tell each other over a BroadcastChannel: one that waits for an origin says so, and one whose call to it is answered says that.
 */

import { laneName } from '../api/store.ts'
import {
  COMEBACK_AT_ONCE,
  COMEBACK_IN_VIEW,
  COMEBACK_OF_FEW,
  COMEBACK_OF_MANY,
  OP_FLUSH,
  OP_SET_COMEBACK,
  OP_SET_ONLINE,
} from '../core/codes.ts'
import type { Settings } from '../options/queue-options.ts'
import { listen } from '../platform/abort.ts'
import { openChannel } from '../platform/channel.ts'
import { isOffline, isPage } from '../platform/page.ts'
import { whenPutAway } from '../platform/put-away.ts'
import type { RunnerPorts } from './ports.ts'

/** A page that is clicked on again and again wakes its tasks no more often. */
const WAKE_MS = 2_000
/** Origins that other tabs wait for, the last. */
const MOST_ORIGINS = 100

interface Message {
  readonly origin: string
  /** The origin has answered; else it is waited for. */
  readonly isBack: boolean
}

export class Evidence {
  readonly #runner: RunnerPorts
  #channel: BroadcastChannel | undefined
  /** Origins that other tabs wait for. */
  readonly #awaited = new Set<string>()
  #wokenAt = 0

  constructor(runner: RunnerPorts) {
    this.#runner = runner
    const { host, core, closing: signal } = runner
    if (isOffline()) core.call(OP_SET_ONLINE, host.now(), false)
    const onNetwork = () => this.#setOnline(!isOffline())
    listen(globalThis, 'online', onNetwork, signal)
    listen(globalThis, 'offline', onNetwork, signal)
    if (!isPage()) return
    const { document } = globalThis
    const wake = () => this.#wake()
    listen(globalThis, 'focus', wake, signal)
    listen(document, 'visibilitychange', wake, signal)
    // an open channel may keep a page that is put away from being kept for the way back
    const [open, close] = [() => this.#open(), () => this.#close()]
    open()
    signal.addEventListener('abort', close)
    whenPutAway(close, open, signal)
  }

  /** The circuit of an origin has opened. */
  opened(origin: string): void {
    this.#channel?.postMessage({ origin, isBack: false } satisfies Message)
  }

  /** The circuit of an origin has closed. */
  closed(origin: string): void {
    if (!isPage()) return
    this.#awaited.add(origin)
    this.answered(origin)
    this.#back(origin)
  }

  /** An origin has answered as one that works. */
  answered(origin: string): void {
    if (this.#awaited.delete(origin)) this.#channel?.postMessage({ origin, isBack: true } satisfies Message)
  }

  #open(): void {
    try {
      const name = `redrive/${this.#runner.host.settings.name}/origins`
      this.#channel ??= openChannel(name, (data) => this.#hear(data))
    } catch {
      // there are no other tabs here, or storage is forbidden
    }
  }

  #close(): void {
    this.#channel?.close()
    this.#channel = undefined
  }

  #hear(data: unknown): void {
    const { origin, isBack } = (data ?? {}) as Partial<Message>
    if (typeof origin !== 'string' || this.#runner.closing.aborted) return
    if (isBack) {
      this.#back(origin)
      return
    }
    this.#awaited.add(origin)
    const [oldest] = this.#awaited
    if (this.#awaited.size > MOST_ORIGINS && oldest !== undefined) this.#awaited.delete(oldest)
  }

  /** Makes due what waits for an origin. */
  #back(origin: string): void {
    const { core, lanes, host, stored } = this.#runner
    const { principal } = host
    const lane = lanes.find(principal, origin)
    if (lane === undefined) return
    this.#runner.guard(() => core.call(OP_FLUSH, host.now(), lane))
    stored?.flush(laneName(principal, origin)).catch(() => {
      // its loop meets the same fault, and reports it
    })
    this.#runner.tick()
  }

  /** Its user may look at the page, and expects to see that its work goes on. */
  #wake(): void {
    const runner = this.#runner
    const now = runner.host.now()
    if (runner.closing.aborted) return
    runner.guard(() => runner.core.call(OP_SET_COMEBACK, comebackOf(runner.host.settings.breaker)))
    if (globalThis.document?.hidden || now < this.#wokenAt + WAKE_MS || runner.depth === 0) return
    this.#wokenAt = now
    runner.flush().catch(() => {
      // the store's loop meets the same fault, and reports it
    })
  }

  #setOnline(online: boolean): void {
    const { core, lanes, host, stored, closing } = this.#runner
    if (closing.aborted) return
    this.#runner.guard(() => core.call(OP_SET_ONLINE, host.now(), online))
    lanes.lookAgain()
    stored?.loop.roomMade()
    this.#runner.tick()
    if (online) this.#wake()
  }
}

/** How an origin comes back that failed. The processes of a service are few; the tabs of a page are many, and none knows how many. */
export function comebackOf(breaker: Settings['breaker'] | undefined): number {
  if (breaker === false) return COMEBACK_AT_ONCE
  if (!isPage()) return COMEBACK_OF_FEW
  return globalThis.document?.visibilityState === 'visible' ? COMEBACK_IN_VIEW : COMEBACK_OF_MANY
}
