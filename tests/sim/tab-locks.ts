/** One tab's locks: whether it pumps, which homes it is, whether its leases are looked after, and whose end it hears of. */

import type { Pump } from '../../js/api/store.ts'
import type { Held, Locks } from './locks.ts'
import type { Page } from './page.ts'

const HOME = 'home '

interface Wanted {
  readonly name: string
  readonly granted: () => void
}

let tabs = 0

export class TabLocks implements Pump {
  readonly #locks: Locks
  readonly #page: Page
  readonly #hear: () => void
  readonly #guardName = `guard ${++tabs}`
  readonly #homes = new Map<string, Held>()
  readonly #watches = new Map<string, Held>()
  #wanted: Wanted | undefined
  #pump: Held | undefined
  #guard: Held | undefined
  /** Leases that were given while the guard was held as it is now. */
  #tokens = new Set<number>()

  /** `hear`: somebody whose end matters here is gone. */
  constructor(locks: Locks, page: Page, hear: () => void) {
    this.#locks = locks
    this.#page = page
    this.#hear = hear
    page.document.addEventListener('visibilitychange', () => this.#turned())
  }

  want(principal: string | null, granted: () => void): void {
    const name = pumpOf(principal)
    if (this.#wanted?.name === name) return
    this.release()
    this.#wanted = { name, granted }
    this.#ask()
    this.look()
  }

  release(): void {
    this.#wanted = undefined
    this.#pump?.release()
    this.#pump = undefined
  }

  holdHome(owner: string): void {
    const name = HOME + owner
    if (!this.#homes.has(name))
      this.#homes.set(
        name,
        this.#locks.request(this.#page, name, () => {}),
      )
  }

  letGoHome(owner: string): void {
    this.#homes.get(HOME + owner)?.release()
    this.#homes.delete(HOME + owner)
  }

  liveHomes(): readonly string[] {
    const names = this.#locks.held().filter((name) => name.startsWith(HOME))
    for (const name of names) if (!this.#homes.has(name)) this.watch(name)
    return names.map((name) => name.slice(HOME.length)).sort()
  }

  /** Says whether this tab looks after the leases it is given now. */
  guard(): boolean {
    this.#guard ??= this.#locks.request(this.#page, this.#guardName, () => {})
    return this.#guard.isHeld
  }

  lookAfter(token: number): this {
    if (this.#guard?.isHeld) this.#tokens.add(token)
    return this
  }

  /** It was given under a guard, which is held still. */
  guards(token: number): boolean {
    return this.#tokens.has(token)
  }

  watchGuards(tabs: Iterable<TabLocks>): void {
    for (const tab of tabs) if (tab !== this) this.watch(tab.#guardName)
  }

  /** Lets go of everything. */
  rest(): void {
    this.release()
    this.letGoHomes()
    this.letGoGuard()
    for (const watching of this.#watches.values()) watching.release()
    this.#watches.clear()
  }

  letGoHomes(): void {
    for (const home of this.#homes.values()) home.release()
    this.#homes.clear()
  }

  letGoGuard(): void {
    this.#guard?.release()
    this.#guard = undefined
    this.#tokens.clear()
  }

  /** Hears once nobody has it any more. */
  watch(name: string): void {
    if (this.#watches.has(name)) return
    const gone = () => {
      this.#watches.get(name)?.release()
      this.#watches.delete(name)
      this.#hear()
    }
    this.#watches.set(name, this.#locks.request(this.#page, name, gone, { mode: 'shared' }))
  }

  #ask(steal = false): void {
    const wanted = this.#wanted
    if (!wanted) return
    const before = this.#pump
    const terms = {
      steal,
      // behind the one who has it now; whoever pumped is not told, and two that pump do no harm
      lost: () => this.#pump === pump && this.#ask(),
    }
    const granted = () => {
      if (this.#pump !== pump) return
      wanted.granted()
      this.giveWay()
    }
    const pump = this.#locks.request(this.#page, wanted.name, granted, terms)
    this.#pump = pump
    before?.release()
  }

  #turned(): void {
    if (this.#page.isHidden) this.giveWay()
    else this.look()
  }

  /** Hidden, and one that is seen waits: behind whoever waits by now. Where all are hidden it rests with somebody. */
  giveWay(): void {
    if (!this.#page.isHidden || !this.#wanted || !this.#pump?.isHeld) return
    if (this.#locks.waiting(this.#wanted.name).every((page) => (page as Page).isHidden)) return
    this.#pump.release()
    this.#pump = undefined
    this.#ask()
  }

  /** Seen, and waiting for one that is hidden. */
  look(): void {
    if (this.#page.isHidden || !this.#wanted || this.#pump?.isHeld) return
    const holder = this.#locks.holder(this.#wanted.name) as Page | undefined
    if (holder?.isHidden) this.#ask(true)
  }
}

export function pumpOf(principal: string | null): string {
  return `pump ${principal}`
}

export function homeOf(owner: string): string {
  return HOME + owner
}
