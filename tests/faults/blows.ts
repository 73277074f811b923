/** What befalls queue processes: one blow after another, drawn by a seed. Some freeze, some kill at a chosen moment, or at any once that is late. */

import type { Crew } from './crew.ts'
import { FREEZE_MS } from './options.ts'
import { MOMENTS, type Moment } from './watched-store.ts'

/** Between two blows. */
const LEAST_MS = 150
const MOST_MS = 900
const FREEZE_SHARE = 0.25
const AIM_SHARE = 0.4
const AIM_MS = 1_500

export class Blows {
  readonly #crew: Crew
  readonly #random: () => number
  #nextAt: number

  constructor(crew: Crew, random: () => number) {
    this.#crew = crew
    this.#random = random
    this.#nextAt = Date.now() + this.between()
  }

  between(): number {
    return LEAST_MS + this.#random() * (MOST_MS - LEAST_MS)
  }

  /** Strikes if it is time. */
  fall(now: number): void {
    if (now < this.#nextAt) return
    this.#nextAt = now + this.between()
    const [pick, how, where] = [this.#random(), this.#random(), this.#random()]
    if (how < FREEZE_SHARE) this.#crew.freeze(pick, FREEZE_MS)
    else if (how >= FREEZE_SHARE + AIM_SHARE) this.#crew.kill(pick)
    else this.#crew.aim(pick, MOMENTS[Math.floor(where * MOMENTS.length)] as Moment, AIM_MS)
  }
}
