/** Writes down what happens, one JSON line an event, where no kill reaches it: for people who look into a run that failed. */

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'

export type Who = 'client' | 'operator' | 'target' | 'receiver' | 'nemesis' | 'process'

/** Writes one line. `what` happened to `who`, and whatever else there is to say. */
export type Note = (who: Who, what: string, about: object) => void

export function noteIn(folder: string): Note {
  const file = join(folder, 'history.ndjson')
  return (who, what, about) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), who, what, ...about })}\n`)
}
