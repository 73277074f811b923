/** Code that is changed for the length of a world. */

import type { Breaking } from './world.ts'

/** A class with one of its methods replaced. */
export function does<T extends object>(target: T, name: keyof T, value: (...args: never[]) => unknown): Breaking {
  const code = () => {
    const before = Object.getOwnPropertyDescriptor(target, name)
    if (!before) throw new TypeError(`there is no ${String(name)} to change`)
    Object.defineProperty(target, name, { ...before, value })
    return () => Object.defineProperty(target, name, before)
  }
  return { code }
}

export function all(...each: readonly Breaking[]): Breaking {
  const code = () => {
    const mends = each.map((breaking) => breaking.code?.())
    return () => {
      for (const mend of mends) mend?.()
    }
  }
  return { code }
}
