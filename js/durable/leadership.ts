/**
 * Says which due tasks this process may claim: the leader claims those that no caller waits for, and every process claims those
 * that its own callers wait for, or that no other can send.
 *
 * A store whose processes cannot all claim at once (tabs of a browser) elects a leader among them; with other stores every process
 * leads. Home: the process whose caller waits, or that alone has a header of the task. A response can be given, or such a task be
 * sent, only there, so the leader leaves the tasks of live homes to them.
 */

import type { QueueStats } from '../api/stats.ts'
import type { Claim, Turn } from '../api/store.ts'
import { FOREVER } from '../platform/clock.ts'
import { HOME_MS, RENEWED_LEASE_MS } from './lease-terms.ts'
import { Lacking } from './needs.ts'
import type { StoredState } from './state.ts'

export class Leadership {
  readonly #state: StoredState
  readonly #granted: () => void
  readonly #lacking: Lacking
  #candidacy: 'none' | 'asked' | 'leads' = 'none'
  /** The page is put away: nothing is asked for. */
  #isSuspended = false
  /** How long the store takes this process for a home, and when to tell it so again. */
  #homeUntil = 0
  #homeAt = FOREVER
  #holding: Promise<void> | undefined
  #homeWanted: () => boolean = () => false

  /** `granted`: called when this process becomes the leader. */
  constructor(state: StoredState, granted: () => void) {
    this.#state = state
    this.#granted = granted
    this.#lacking = new Lacking(state.store, state.runner)
  }

  get isLeader(): boolean {
    return !this.#state.store.leader || this.#candidacy === 'leads'
  }

  /** The homes of a claim: only the leader takes tasks without a waiting caller, and of those the ones whose hooks it has. */
  get homes(): Pick<Claim, 'supplied' | 'ownHomeOnly'> {
    const { supplied } = this.#lacking
    return this.isLeader ? { supplied } : { supplied, ownHomeOnly: true }
  }

  /** Hooks that tasks which are left alone need and this process lacks. */
  get lacking(): Pick<QueueStats, 'lacking'> {
    const { needs } = this.#lacking
    return needs.length > 0 ? { lacking: needs } : {}
  }

  /** Looks at what a turn has left. What this process lacks another that may lead may have. */
  async look(turn: Turn, claim: Claim): Promise<void> {
    if (await this.#lacking.look(turn, claim)) this.resign()
  }

  /** Whether callers wait here, or tasks that no other process can send. */
  get isHome(): boolean {
    return this.#homeWanted() || this.#state.hasSole
  }

  /** When to say again that this is a home. A home without callers lapses by itself, and no timer is kept for it. */
  get wakeAt(): number {
    return this.isHome ? this.#homeAt : FOREVER
  }

  /** Asks to lead, since something waits or may wait; asking once is enough. */
  seek(): void {
    const { store, runner } = this.#state
    if (!store.leader || this.#candidacy !== 'none' || this.#isSuspended) return
    this.#candidacy = 'asked'
    store.leader.want(runner.host.principal, () => {
      if (this.#candidacy !== 'asked') return
      this.#candidacy = 'leads'
      this.#granted()
    })
  }

  /** Gives up leading, since nothing waits: a process that has something to do may lead. */
  resign(): void {
    if (this.#candidacy === 'none') return
    this.#candidacy = 'none'
    this.#state.store.leader?.resign()
  }

  /** Makes this process a home before its caller's task is stored. `wanted`: whether callers of this process wait, from now on. */
  async keepHome(wanted: () => boolean): Promise<void> {
    this.#homeWanted = wanted
    await this.stayHome()
  }

  /** Says that this process is a home, unless the store knows that. */
  async stayHome(): Promise<void> {
    if (this.#isSuspended) return
    if (this.#homeUntil <= this.#state.runner.host.now()) this.#holding = this.#holdHome()
    // the word of the first caller may still be on its way
    await this.#holding
  }

  /** Says again that this process is a home, if it is time to. */
  async renewHome(): Promise<void> {
    if (this.#state.runner.host.now() >= this.#homeAt) await this.#holdHome()
  }

  /** Says that this process is no home any more, if its last caller has left. */
  async leaveHome(): Promise<void> {
    const { homes } = this.#state.store
    if (!homes?.areHeard || this.#homeUntil === 0 || this.isHome) return
    await this.#holdHome()
  }

  /** Live homes but this one: their tasks are left to them. */
  async otherHomes(): Promise<readonly string[]> {
    const live = (await this.#state.store.homes?.live()) ?? []
    return live.filter((home) => home !== this.#state.owner)
  }

  /** The latest at which to look whatever the store says: after `homes` whose end no hint tells, and for callers here. */
  lookAt(homes: readonly string[], now: number): number {
    const unheard = homes.length > 0 && !this.#state.store.homes?.areHeard
    return unheard || (this.isHome && !this.isLeader) ? now + HOME_MS : FOREVER
  }

  /** Resigns, since the page is put away: the store lets its locks go, and they are asked for anew afterwards. */
  suspend(): void {
    this.#isSuspended = true
    this.resign()
    this.#homeUntil = 0
    this.#homeAt = FOREVER
  }

  async resumeFromSuspend(): Promise<void> {
    this.#isSuspended = false
    this.seek()
    if (this.isHome) await this.stayHome()
  }

  async #holdHome(): Promise<void> {
    const { store, owner, runner } = this.#state
    const { homes } = store
    if (!homes) return
    const wanted = this.isHome
    const now = runner.host.now()
    this.#homeAt = wanted && !homes.areHeard ? now + HOME_MS : FOREVER
    this.#homeUntil = wanted ? (homes.areHeard ? FOREVER : this.#homeAt) : 0
    try {
      await homes.holdHome(owner, wanted ? RENEWED_LEASE_MS : 0)
    } catch (error) {
      this.#homeUntil = 0
      this.#holding = undefined
      throw error
    }
  }
}
