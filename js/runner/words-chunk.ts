/**
 * The words of `explain` as a chunk: fetched with the first task of a queue, before anyone asks for them, since offline they could not
 * be had.
 */

import { RedriveError } from '../api/errors.ts'
import { systemClock, within } from '../platform/clock.ts'
import { errorText } from '../platform/error-text.ts'
import { isOffline } from '../platform/page.ts'
import type { Parts } from './parts.ts'
import type { WordsModule } from './stored.ts'
import { FIRST_LOAD_WAIT_MS, LAST_LOAD_WAIT_MS, untilDone } from './until-done.ts'

/** A question waits no longer for its chunk. Real time, whatever the clock. */
const LOAD_MS = 10_000

/** `load`: asked again once it is here, it gives what it gave before. */
export function wordsChunk(load: () => Promise<WordsModule>): Pick<Parts, 'words' | 'begin'> {
  const later = () => LAST_LOAD_WAIT_MS
  return {
    words: () =>
      within(systemClock, LOAD_MS, 'loading it', load()).catch((error) => {
        const why = `what explains a task could not be loaded (${errorText(error)}); ask again once the network is back`
        throw new RedriveError('core_unreachable', why, { cause: error })
      }),

    begin(runner) {
      const { host } = runner
      const { changed = () => {} } = host
      host.changed = (change) => {
        changed(change)
        if (change.taskId === undefined) return
        host.changed = changed
        // a browser may not ask twice for a chunk that it could not have
        void untilDone(runner, FIRST_LOAD_WAIT_MS, async () => (isOffline() ? later() : load().then(() => 0, later)))
      }
    },
  }
}
