/** The simulation's only chance: a seeded generator, so that a seed printed is a world seen again. */

export interface Dice {
  /** 0 to `below` - 1. */
  below(below: number): number
  /** Both ends included. */
  between(least: number, most: number): number
  chance(share: number): boolean
  pick<T>(list: readonly T[]): T
}

/** mulberry32: 32 bits of state, which is as many as a seed has. */
export function dice(seed: number): Dice {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0
  const draw = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(draw() * limit)
  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (share) => draw() < share,
    pick: (list) => {
      const picked = list[below(list.length)]
      if (picked === undefined) throw new RangeError('nothing to pick from')
      return picked
    },
  }
}
