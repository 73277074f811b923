/**
 * What this process claims, of what is due. Where the store has a pump, one process at a time claims what nobody waits for; each
 * claims by itself what its own callers wait for, and says that it is their home, since a response can be given only there.
 */

import type { TaskStore } from '../api/store.ts'
import type { Runner } from '../runner/runner.ts'
import { HOME_MS, RENEWED_LEASE_MS } from './turn-schedule.ts'

const FOREVER = Number.POSITIVE_INFINITY

export class Leadership {
  readonly #owner: string
  readonly #store: TaskStore
  readonly #runner: Runner
  readonly #granted: () => void
  #state: 'no' | 'asked' | 'held' = 'no'
  /** The page is put away: nothing is asked for. */
  #isSuspended = false
  /** Until when it is held, and when to hold it anew. */
  #homeUntil = 0
  #homeAt = FOREVER
  #homeWanted: () => boolean = () => false

  /** `granted`: this process is the one that pumps now. */
  constructor(store: TaskStore, owner: string, runner: Runner, granted: () => void) {
    this.#store = store
    this.#owner = owner
    this.#runner = runner
    this.#granted = granted
  }

  /** Claims whatever is due. */
  get isLeader(): boolean {
    return !this.#store.pump || this.#state === 'held'
  }

  /** Callers wait here. */
  get isHome(): boolean {
    return this.#homeWanted()
  }

  /** When a home has to be held anew; one that nobody waits in any more lapses by itself, and no timer is kept for it. */
  get wakeAt(): number {
    return this.isHome ? this.#homeAt : FOREVER
  }

  /** Something waits, or may: asks for the pump, unless it has asked. */
  seek(): void {
    if (!this.#store.pump || this.#state !== 'no' || this.#isSuspended) return
    this.#state = 'asked'
    this.#store.pump.want(this.#runner.host.principal, () => {
      if (this.#state !== 'asked') return
      this.#state = 'held'
      this.#granted()
    })
  }

  /** Nothing waits: whoever has something may have the pump. */
  resign(): void {
    if (this.#state === 'no') return
    this.#state = 'no'
    this.#store.pump?.release()
  }

  /** `wanted`: whether callers of this process wait. Says so to the others from now on. */
  async keepHome(wanted: () => boolean): Promise<void> {
    this.#homeWanted = wanted
    if (!this.#isSuspended && this.#homeUntil <= this.#runner.host.now()) await this.#holdHome()
  }

  /** As `keepHome`, if it is time for it. */
  async renewHome(): Promise<void> {
    if (this.#runner.host.now() >= this.#homeAt) await this.#holdHome()
  }

  /** Callers have left. */
  async leaveHome(): Promise<void> {
    const { homes } = this.#store
    if (!homes?.areHeard || this.#homeUntil === 0 || this.isHome) return
    await this.#holdHome()
  }

  /** Homes whose tasks are left to them. */
  async otherHomes(): Promise<readonly string[]> {
    const live = (await this.#store.homes?.live()) ?? []
    return live.filter((home) => home !== this.#owner)
  }

  /** When to look whatever the store says: where tasks are left to `homes` whose end is not heard, and for callers here. */
  lookAt(homes: readonly string[], now: number): number {
    const unheard = homes.length > 0 && !this.#store.homes?.areHeard
    return unheard || (this.isHome && !this.isLeader) ? now + HOME_MS : FOREVER
  }

  /** The page is put away: what the store lets go of is asked for anew afterwards. */
  suspend(): void {
    this.#isSuspended = true
    this.resign()
    this.#homeUntil = 0
    this.#homeAt = FOREVER
  }

  async resumeFromSuspend(): Promise<void> {
    this.#isSuspended = false
    this.seek()
    if (this.isHome) await this.keepHome(this.#homeWanted)
  }

  async #holdHome(): Promise<void> {
    const { homes } = this.#store
    if (!homes) return
    const wanted = this.isHome
    const now = this.#runner.host.now()
    this.#homeAt = wanted && !homes.areHeard ? now + HOME_MS : FOREVER
    this.#homeUntil = wanted ? (homes.areHeard ? FOREVER : this.#homeAt) : 0
    try {
      await homes.hold(this.#owner, wanted ? RENEWED_LEASE_MS : 0)
    } catch (error) {
      this.#homeUntil = 0
      throw error
    }
  }
}
