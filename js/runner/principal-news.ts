/**
 * Tells the pages of a browser of each other's principals, also where a store cannot be had: a page that has none hears all the same that
 * another user logs in, and is heard (S16).
 *
 * Where a store is open it says who is there, and what is heard here is passed on to it. A page without one goes by what it hears.
 */

import type { NamedAt } from '../api/store.ts'
import { openChannel } from '../platform/channel.ts'
import { type Instant, instantOf } from '../platform/clock.ts'
import { whenPutAway } from '../platform/put-away.ts'
import { random128 } from '../platform/random.ts'
import { namedAtOf } from './named-at.ts'
import type { RunnerPorts } from './ports.ts'

/** How long a login counts whose end is not heard: its page may be gone. */
const LOGIN_MS = 90_000
/** A page that comes back hears within this long what it has missed. */
const ANSWER_MS = 1_000

/** A page says who is there, and since when. */
export interface NamedPrincipal {
  readonly principal: string | null
  readonly at: Instant
}

interface Message extends Pick<NamedAt, 'since'>, Partial<Pick<NamedAt, 'now'>> {
  /** Absent, as `now` is: the page has no core. */
  readonly from?: string
  readonly principal: string | null
  /** Its principal logs in there. `stored`: the store knows of it. */
  readonly login?: 'stored' | 'unstored' | undefined
}

export class PrincipalNews {
  /** The last word of another page, where it is younger than this queue's own. */
  heard: NamedPrincipal | undefined
  readonly #runner: RunnerPorts
  /** This page's name among the others; undefined: there are none to tell. */
  readonly #id: string | undefined
  #channel: BroadcastChannel | undefined
  /** The page in which a principal logs in, until its end is heard or may have been missed. '': this page was put away, and has to hear first. */
  #login: string | undefined
  /** The store knows of that login, and of its end: only a page that has no store goes by what it has heard of it. */
  #isLoginStored = false
  #disarm = () => {}
  #isStored = true

  constructor(runner: RunnerPorts) {
    const { host, closing: signal } = runner
    this.#runner = runner
    // a service worker is told by the pages, over the store
    if (!host.settings.durable || !globalThis.document) return
    this.#id = random128(host.draw)
    this.declare()
    signal.addEventListener('abort', () => this.#close())
    const onAway = () => {
      this.#close()
      this.#login = ''
      if (!runner.stored) this.goByNews()
    }
    const onBack = () => {
      if (runner.stored) this.#endHold()
      else this.#holdFor(ANSWER_MS, '')
      this.declare()
    }
    whenPutAway(onAway, onBack, signal)
  }

  /** Whether another principal is there, or logs in, by the word of another page. */
  get isForeign(): boolean {
    return this.isLogin || (this.heard !== undefined && this.heard.principal !== this.#runner.host.principal)
  }

  /** Whether a principal logs in in another page, of which the store need not know. */
  get isLogin(): boolean {
    return this.#login !== undefined && !(this.#isLoginStored && this.#runner.stored)
  }

  /** Tells the other pages who is there, or logs in, by the word of this one. `isStored`: the store can tell them too. */
  declare(isStored: boolean = this.#runner.stored !== undefined): void {
    const { principal, declaredAt: at, switching } = this.#runner.host
    this.#isStored = isStored
    if (!switching && this.heard && !this.#isOlder(at, this.heard.at)) this.heard = undefined
    this.#post({ principal, at })
    if (!this.#runner.stored) this.goByNews()
  }

  /** Has the tasks wait, or go on, as the pages say: there is no store to ask. */
  goByNews(): void {
    const runner = this.#runner
    runner.guard(() => runner.lanes.standBack(runner.host.now(), this.isForeign))
    runner.tickSoon()
  }

  #hear(data: unknown): void {
    const { host, stored } = this.#runner
    if (!isMessage(data)) return
    const { from = '', principal, since, now = since, login } = data
    const { wall, monotonic } = instantOf(host.settings.clock)
    const before = this.isForeign
    if (login) {
      const isStored = login === 'stored'
      if (!stored || !isStored) this.#holdFor(LOGIN_MS, from, isStored)
      return
    }
    if (from === this.#login) this.#endHold()
    const said = { principal, at: { wall: since, monotonic: monotonic - (Math.max(wall, now) - since) } }
    const known = this.heard ?? { principal: host.principal, at: host.declaredAt }
    const isOlder = this.#isOlder(said.at, known.at)
    if (!isOlder) this.heard = said
    if (isOlder ? known.principal !== principal : host.switching) this.#post(known)
    if (this.isForeign || before) this.#changed()
  }

  /** Whether `at` is the older of two: one in its future was said before the clock was set back. */
  #isOlder(at: Instant, other: Instant): boolean {
    const { clock } = this.#runner.host.settings
    const { since, now } = namedAtOf(at, clock)
    const known = namedAtOf(other, clock).since
    return known > since && known <= now
  }

  #holdFor(ms: number, from: string, isStored = false): void {
    this.#endHold()
    this.#login = from
    this.#isLoginStored = isStored
    const end = () => {
      this.#endHold()
      this.#changed()
    }
    this.#disarm = this.#runner.host.settings.clock.after(ms, end, true)
    this.#changed()
  }

  #endHold(): void {
    this.#disarm()
    this.#login = undefined
  }

  #changed(): void {
    const { stored } = this.#runner
    if (stored) stored.principalNamed(!this.isForeign)
    else this.goByNews()
  }

  #post({ principal, at }: NamedPrincipal): void {
    const { host, closing } = this.#runner
    const { clock, name } = host.settings
    const from = this.#id
    if (from === undefined || closing.aborted) return
    const login = host.switching && (this.#isStored ? 'stored' : 'unstored')
    const message: Message = { ...namedAtOf(at, clock), from, principal, login }
    try {
      this.#channel ??= openChannel(`redrive/${name}`, (data) => this.#hear(data))
      this.#channel.postMessage(message)
    } catch {
      // there are none here, or storage is forbidden
    }
  }

  #close(): void {
    this.#endHold()
    this.#channel?.close()
    this.#channel = undefined
  }
}

/** The store's hints go over the same channel, and other code of the site may say anything. */
function isMessage(data: unknown): data is Message {
  const { from = '', principal, since, now = since } = (data ?? {}) as Partial<Record<keyof Message, unknown>>
  if (typeof from !== 'string' || (principal !== null && typeof principal !== 'string')) return false
  return Number.isFinite(since) && Number.isFinite(now)
}
