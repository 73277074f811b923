/** The seam between the command line and the service that it starts. */

import type { Io } from './io.ts'
import type { Settings } from './settings.ts'

/** The surroundings of a service: the parts that are no settings. */
export interface ServeHost {
  readonly io: Io
  /** Reads every place again. Rejects with a UsageError where something is wrong by now: nothing is changed then. */
  reread(): Promise<Settings>
  /** Where the files of the inspector lie. @default the folder of the package */
  readonly uiFolder?: string
}

/** Runs the service until it has been stopped; resolves with the exit code. */
export type Serve = (settings: Settings, host: ServeHost) => Promise<number>
