/** One browser after another on one profile, its tabs, and the documents in them: what is done to them, and what they say. */

import { installProbe } from '../../browser/probe.ts'
import type { FlakyServer } from '../../servers/start.mjs'
import type { Browser, Start, Tab } from './browser.ts'
import { comeBack, type Fate, goAway, type Life } from './lives.ts'
import type { Order } from './orders.ts'
import { type Told, toldIn } from './told.ts'

export interface FleetOptions {
  readonly server: FlakyServer
  readonly start: Start
  readonly profile: string
  readonly tabs: number
  /** Of the queue, as JSON. */
  readonly queue: object
  readonly breaks: string | undefined
}

/** Who hears what the pages say, and what became of them. */
export interface FleetEar {
  told(told: Told, place: Place): void
  /** A document is gone, and with it the answers to these. */
  unanswered(orders: readonly Order[], fate: Fate): void
}

export interface Place {
  readonly number: number
  tab: Tab | undefined
  /** Who is there, or was there last. */
  life: Life | undefined
  /** 'away': another page, or nothing, is shown. */
  state: 'away' | 'ready' | 'frozen'
}

const OPEN_MS = 20_000
const now = (): number => Date.now()

/** Runs in each page before its own scripts. */
const WATCH = `(${installProbe})({ holdIdle: false })
globalThis.transactions = 0
const { transaction } = IDBDatabase.prototype
IDBDatabase.prototype.transaction = function (...args) {
  globalThis.transactions++
  return transaction.apply(this, args)
}`

export class Fleet {
  readonly lives: Map<string, Life> = new Map()
  /** What ended without being asked to. */
  readonly deaths: string[] = []
  readonly degraded: Map<string, number> = new Map()
  readonly uncaught: string[] = []
  kills = 0
  isOffline = false
  readonly #options: FleetOptions
  readonly #ear: FleetEar
  readonly #open = new Map<Life, Map<string, Order>>()
  /** Intent -> why its order did not reach its page. */
  readonly #untaken = new Map<string, string>()
  #places: Place[] = []
  #browser: Browser | undefined
  #killing = new AbortController()
  #turn = 0

  constructor(options: FleetOptions, ear: FleetEar) {
    this.#options = options
    this.#ear = ear
  }

  get places(): readonly Place[] {
    return this.#places
  }

  get ready(): readonly Place[] {
    return this.#places.filter(({ state }) => state === 'ready')
  }

  /** The browser with all its tabs; resolves once each of them is ready. Rejects where it is killed on the way. */
  async start(): Promise<void> {
    const { start, profile, tabs } = this.#options
    this.#killing = new AbortController()
    const { signal } = this.#killing
    const browser = await start(profile, signal)
    this.#browser = browser
    void browser.gone.then(() => {
      if (!signal.aborted && this.#browser === browser) this.deaths.push('the browser ended by itself')
    })
    this.#places = Array.from({ length: tabs }, (_, number) => ({
      number,
      tab: undefined,
      life: undefined,
      state: 'away' as const,
    }))
    // all at once, as a restored session comes
    await Promise.all(this.#places.map((place) => this.open(place)))
  }

  async open(place: Place): Promise<void> {
    const browser = this.#running()
    const ear = { said: (line: string) => this.#hear(place, line), crashed: () => this.#crashed(place) }
    place.state = 'away'
    place.tab = await browser.open(ear, { script: WATCH, alone: place.number % 2 === 0 })
    await this.#arrive(place, () => place.tab?.load(this.#url('tab.html')))
  }

  /** Gives an order to a tab that can take it; false: there is none. `to`: one of these. */
  give(order: Order, to: readonly Place[] = this.ready): boolean {
    const place = to[this.#turn++ % Math.max(1, to.length)]
    const { tab, life } = place ?? {}
    if (!tab || !life) return false
    const open = this.#open.get(life) ?? new Map<string, Order>()
    this.#open.set(life, open.set(order.intent, order))
    // a document that is gone meanwhile: what was not answered is told
    tab.run(`give(${JSON.stringify(order)})`).catch((error) => this.#untaken.set(order.intent, String(error)))
    return true
  }

  async kill(): Promise<void> {
    const at = now()
    const browser = this.#browser
    this.#browser = undefined
    this.#killing.abort()
    browser?.kill()
    // nothing is given to the dying; what they said last is still heard
    for (const place of this.#places) place.state = 'away'
    await browser?.gone
    for (const place of this.#places) this.#end(place, 'killed', at)
    this.kills++
  }

  async crash(place: Place): Promise<void> {
    const { tab } = place
    this.#end(place, 'crashed', now())
    await tab?.crash?.()
    await tab?.close()
  }

  async close(place: Place): Promise<void> {
    const { tab } = place
    this.#end(place, 'closed', now())
    await tab?.close()
  }

  async reload(place: Place): Promise<void> {
    this.#end(place, 'left', now(), false)
    await this.#arrive(place, () => place.tab?.load(this.#url('tab.html')))
  }

  /** To another page; the one left may be kept for the way back. */
  async leave(place: Place): Promise<void> {
    place.state = 'away'
    if (place.life) goAway(place.life, now())
    await place.tab?.load(this.#url('away.html'))
  }

  /** True: the page had been kept. */
  async back(place: Place): Promise<boolean> {
    const { life } = place
    await this.#arrive(place, () => place.tab?.back())
    if (place.life === life) return true
    if (life) this.#conclude(life, 'left')
    return false
  }

  async freeze(place: Place): Promise<void> {
    place.state = 'frozen'
    if (place.life) goAway(place.life, now())
    await place.tab?.freeze?.()
  }

  async thaw(place: Place): Promise<void> {
    if (place.life) comeBack(place.life, now())
    await place.tab?.thaw?.()
    place.state = 'ready'
  }

  get canUnplug(): boolean {
    return this.#browser?.offline !== undefined
  }

  async offline(on: boolean): Promise<void> {
    this.isOffline = on
    await this.#running().offline?.(on)
  }

  /** The document that was given an order, and what became of it since; times from `at` on. */
  whereIs(intent: string, at: number): string {
    const since = (ms: number) => (ms === Number.POSITIVE_INFINITY ? 'now' : `${((ms - at) / 1_000).toFixed(2)} s`)
    for (const [{ name, place, fate, away }, orders] of this.#open) {
      const order = orders.get(intent)
      if (!order) continue
      const ways = away.map(({ from, until }) => `${since(from)} to ${since(until)}`).join(', ')
      const reached = this.#untaken.get(intent) ?? 'given'
      return `${order.via} in ${name} of tab ${place}, ${reached}, ${fate ?? 'there'}, away ${ways || 'never'}`
    }
    return 'no document has it'
  }

  /** As a user ends it. */
  async end(): Promise<void> {
    const browser = this.#browser
    this.#browser = undefined
    await browser?.close()
  }

  /** Whatever comes after, no process is left. */
  async stop(): Promise<void> {
    if (this.#browser) await this.kill()
  }

  #running(): Browser {
    if (!this.#browser) throw new Error('the browser is gone')
    return this.#browser
  }

  #url(page: string): string {
    const url = new URL(`/pages/${page}`, this.#options.server.url)
    url.searchParams.set('options', JSON.stringify(this.#options.queue))
    if (this.#options.breaks) url.searchParams.set('break', this.#options.breaks)
    return url.href
  }

  /** Resolves once the page that `go` leads to is ready, or is there again as it was left. */
  async #arrive(place: Place, go: () => Promise<void> | undefined): Promise<void> {
    const { signal } = this.#killing
    const arrived = new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`tab ${place.number} was not ready within ${OPEN_MS} ms`))
      const timer = setTimeout(late, OPEN_MS)
      const over = () => reject(new Error('killed'))
      signal.addEventListener('abort', over, { once: true })
      this.#arrivals.set(place, () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', over)
        resolve()
      })
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
    })
    arrived.catch(() => {})
    await go()
    await arrived
  }

  readonly #arrivals = new Map<Place, () => void>()

  #hear(place: Place, line: string): void {
    const told = toldIn(line)
    if (!told) return
    if (told.what === 'ready') {
      const { life: name } = told
      place.life = { name, place: place.number, client: told.client, away: [], fate: undefined }
      this.lives.set(name, place.life)
    }
    if (told.what === 'back' && place.life) comeBack(place.life, now())
    if (told.what === 'ready' || told.what === 'back') {
      if (!this.#killing.signal.aborted) place.state = 'ready'
      this.#arrivals.get(place)?.()
    }
    if (told.what === 'degraded') this.degraded.set(told.message, (this.degraded.get(told.message) ?? 0) + 1)
    if (told.what === 'uncaught') this.uncaught.push(`${told.life}: ${told.message}`)
    if (told.what === 'accepted' || told.what === 'refused' || told.what === 'settled') {
      const life = this.lives.get(told.life)
      // said in its last moment, and given to somebody else by now
      if (!life || !this.#open.get(life)?.delete(told.intent)) return
    }
    this.#ear.told(told, place)
  }

  #crashed(place: Place): void {
    if (place.life?.fate) return
    this.deaths.push(`tab ${place.number} crashed`)
    this.#end(place, 'crashed', now())
  }

  /** `gone`: and the tab with it. */
  #end(place: Place, fate: Fate, at: number, gone = true): void {
    place.state = 'away'
    if (gone) place.tab = undefined
    if (!place.life) return
    goAway(place.life, at)
    this.#conclude(place.life, fate)
  }

  #conclude(life: Life, fate: Fate): void {
    life.fate ??= fate
    const orders = [...(this.#open.get(life)?.values() ?? [])]
    this.#open.delete(life)
    if (orders.length > 0) this.#ear.unanswered(orders, fate)
  }
}
