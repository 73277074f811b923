/**
 * A page as its queue finds it. All tabs of a world live in one JavaScript, so what runs for a tab runs in its context, and
 * `document` and its like are looked up there: outside of every page they are what they were.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

const here = new AsyncLocalStorage<Page>()

/** Timers of a page that has been hidden for long come so often. */
const THROTTLED_MS = 60_000

/** What a store finds in a browser, by its global name; `locks` is the navigator's. */
export interface Found {
  readonly locks: unknown
  readonly indexedDB: unknown
  readonly IDBKeyRange: unknown
  readonly BroadcastChannel: unknown
}

export class Page {
  readonly document = Object.assign(new EventTarget(), { hidden: false, visibilityState: 'visible' })
  readonly window: EventTarget = new EventTarget()
  readonly navigator: { onLine: boolean; locks?: unknown } = { onLine: true }
  /** What becomes of a message to this page. */
  overChannel: (arrive: () => void) => void = queueMicrotask
  /** It was told that it is frozen, and not that it is back. */
  isFrozen = false
  #found: Found | undefined
  #late: (() => void)[] = []

  constructor() {
    install()
  }

  get realm(): Found | undefined {
    return this.#found
  }

  set realm(found: Found) {
    this.#found = found
    this.navigator.locks = found.locks
  }

  /** Runs `work`, and all that follows from it, as this page. */
  run<T>(work: () => T): T {
    return here.run(this, work)
  }

  get isHidden(): boolean {
    return this.document.hidden
  }

  /** Says so to the page; timers that were kept back come at once when it is seen again. */
  turn(hidden: boolean): void {
    if (this.document.hidden === hidden) return
    this.document.hidden = hidden
    this.document.visibilityState = hidden ? 'hidden' : 'visible'
    this.tell(this.document, 'visibilitychange')
    if (hidden) return
    const late = this.#late
    this.#late = []
    for (const wake of late) wake()
  }

  /** A timer that would come now: how long it is kept back. */
  lateBy(elapsed: number): number {
    return this.isHidden ? THROTTLED_MS - (elapsed % THROTTLED_MS) : 0
  }

  /** What to do at once, should the page be seen before that. Returns what takes it back. */
  keepBack(wake: () => void): () => void {
    this.#late.push(wake)
    return () => {
      this.#late = this.#late.filter((each) => each !== wake)
    }
  }

  tell(target: EventTarget, type: string, fields: object = {}): void {
    if (type === 'freeze' || type === 'resume') this.isFrozen = type === 'freeze'
    this.run(() => target.dispatchEvent(Object.assign(new Event(type), fields)))
  }
}

type Shown = (page: Page) => unknown

/** A page without a realm has what everybody has. */
const FOUND = ['indexedDB', 'IDBKeyRange', 'BroadcastChannel'] as const

const SHOWN: Readonly<Record<string, Shown>> = {
  document: ({ document }) => document,
  navigator: ({ navigator }) => navigator,
  addEventListener: ({ window }) => window.addEventListener.bind(window),
  removeEventListener: ({ window }) => window.removeEventListener.bind(window),
  ...Object.fromEntries(FOUND.map((name) => [name, ({ realm }: Page) => realm?.[name]])),
}

let installed = false

function install(): void {
  if (installed) return
  installed = true
  for (const [name, shown] of Object.entries(SHOWN)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    const get = () => {
      const page = here.getStore()
      const own = page && shown(page)
      return own ?? (before?.get ? before.get.call(globalThis) : before?.value)
    }
    Object.defineProperty(globalThis, name, { configurable: true, get })
  }
}
