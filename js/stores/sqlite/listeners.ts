/** Who in this process listens to which file: two store objects on one path hear each other at once. */

import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Hint } from '../sql/transaction.ts'

export type Listener = (hint: Hint) => void

const byFile = new Map<string, Set<Listener>>()

/** One name for a file that can be reached by several paths, whether it is there yet or not. */
export function fileName(path: string): string {
  const whole = resolve(path)
  try {
    return join(realpathSync(dirname(whole)), basename(whole))
  } catch {
    return whole // opening it will say what is wrong with its folder
  }
}

export function listen(file: string, listener: Listener): () => void {
  const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
  const listeners = byFile.get(file) ?? new Set()
  byFile.set(file, listeners.add(own))
  return () => {
    listeners.delete(own)
    if (listeners.size === 0 && byFile.get(file) === listeners) byFile.delete(file)
  }
}

/** Each listener by itself: one that throws does not keep the others from hearing. */
export function tell(file: string, hints: readonly Hint[]): void {
  const listeners = byFile.get(file)
  if (!listeners) return
  for (const hint of hints) for (const listener of listeners) queueMicrotask(() => listener(hint))
}
