/**
 * The parts of a queue that come later than its runner, so that a page loads no more than its tasks need. Each is a chunk of its own
 * where there are chunks, and here at once in Workers and service workers.
 */

import type { Keys } from '../core/keys.ts'
import type { Admission } from './admission.ts'
import type { RunnerPorts } from './ports.ts'
import type { PrincipalNews } from './principal-news.ts'
import type { Runner } from './runner.ts'
import type { PageStoreModule, WordsModule } from './stored.ts'

/** The chunk of durable queues. */
export interface StoreModule {
  /**
   * Opens the store for the admission. `pages`: the store of pages, where none was given. Resolves after the
   * first try, and never rejects: where the store cannot be had, it tries again by itself.
   */
  openStore(pages: PageStoreModule | undefined, runner: Runner, admission: Admission): Promise<void>
}

/** Each of them rejects where it cannot be had for now. */
export interface Parts {
  /** With a store, and with the first call that repeats another or may be repeated. */
  keys(): Promise<Keys>
  /** For a queue with a store. */
  store(): Promise<StoreModule>
  /** The store of pages, for one that was given none. */
  pages(): Promise<PageStoreModule>
  /** For `explain`. */
  words(): Promise<WordsModule>
  /** Fetches ahead what a task may need. Absent: all is here. */
  readonly begin?: (runner: Runner) => void
  /** Makes what hears other pages, which is here at once. Absent: this is no host of pages. */
  readonly newsFor?: (runner: RunnerPorts) => PrincipalNews
}
