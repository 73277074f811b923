/** The inspector for development: a button in the corner of any page, and a panel that it opens. */

import type { RetryQueue } from 'redrive'
import type { MountOptions } from './mounted.ts'

export type { MountOptions } from './mounted.ts'

/**
 * Puts a button with the queue's waiting tasks and dead letters into the page; it opens an inspector of the queue. `close()` takes both away. Where there is no
 * document it does nothing. A file that cannot be loaded is reported on the console: the page goes on without the button.
 */
export function mountInspector(queue: RetryQueue, options: MountOptions = {}): { close(): void } {
  let isClosed = !globalThis.document
  let remove: (() => void) | undefined
  if (!isClosed) {
    import('./mounted.ts').then(
      ({ mounted }) => {
        if (!isClosed) remove = mounted(queue, options)
      },
      (error: unknown) => console.error('redrive: the inspector cannot be loaded', error),
    )
  }
  return {
    close() {
      isClosed = true
      remove?.()
    },
  }
}
