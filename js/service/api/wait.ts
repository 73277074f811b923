/** Waits for the end of a task, for a caller who asked with `Prefer: wait`: by the store's hints, and by looking where it gives none. */

import type { StoredTask } from 'redrive/store'
import type { ApiContext } from './context.ts'
import { afterOthers } from './in-slices.ts'
import { isEnded } from './show.ts'

/** Between two looks, where no hint came: processes on another host may give none. */
const LOOK_MS = 500

/** The task once it has ended, or as it is after `forMs`, when its caller leaves, or when the service stops. */
export async function untilEnded(
  record: StoredTask,
  forMs: number,
  { store, clock, state }: ApiContext,
  signal: AbortSignal,
): Promise<StoredTask> {
  const { taskId } = record
  const until = clock.monotonic() + forMs
  let wake = (): void => {}
  const unsubscribe = store.subscribe?.((hint) => {
    if (hint.taskId === taskId) wake()
  })
  const onAbort = (): void => wake()
  signal.addEventListener('abort', onAbort)
  try {
    let latest = record
    while (!isEnded(latest) && !signal.aborted && !state.isDraining()) {
      const left = until - clock.monotonic()
      if (left <= 0) break
      await new Promise<void>((resolve) => {
        const disarm = clock.after(Math.min(left, LOOK_MS), resolve)
        wake = () => {
          disarm()
          resolve()
        }
        // it may have left, or the task ended, before there was an ear for it
        if (signal.aborted) wake()
      })
      // hundreds may wake at once
      await afterOthers()
      const found = await store.get(taskId)
      if (!found) break
      latest = found
    }
    return latest
  } finally {
    unsubscribe?.()
    signal.removeEventListener('abort', onAbort)
  }
}
