/** Deletes bodies by their age, where their store does not do so by rules of its own. */

import type { Clock } from 'redrive'
import { type BodyStore, BodyStoreError } from './body-store.ts'
import type { BodyLimits } from './task-bodies.ts'

const HOUR_MS = 3_600_000

export interface Sweeper {
  /** Sweeps now, and then every hour. */
  start(): void
  /** Resolves once nothing is swept any more. */
  stop(): Promise<void>
}

export function sweeperOf(
  store: BodyStore,
  { uploadTtlMs }: Pick<BodyLimits, 'uploadTtlMs'>,
  clock: Clock,
  log: (entry: { readonly level: 'info' | 'warn'; readonly event: string; readonly [field: string]: unknown }) => void,
): Sweeper {
  let disarm = (): void => {}
  let sweeping: Promise<void> = Promise.resolve()
  const sweep = async (): Promise<void> => {
    try {
      const count = (await store.sweep?.(uploadTtlMs)) ?? 0
      if (count > 0) log({ level: 'info', event: 'bodies_swept', count })
    } catch (error) {
      const message = error instanceof BodyStoreError ? error.message : 'the clean-up failed'
      log({ level: 'warn', event: 'bodies_not_swept', message })
    }
  }
  const again = (): void => {
    sweeping = sweep()
    disarm = clock.after(HOUR_MS, again, true)
  }
  return {
    start() {
      if (store.sweep) again()
    },
    stop() {
      disarm()
      return sweeping
    },
  }
}
