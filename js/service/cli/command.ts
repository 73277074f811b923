/** A command as `cli.ts` finds it: its name, what it takes, what it does. */

import type { AnyTable } from './flag.ts'
import type { Io } from './io.ts'
import type { Words } from './read-flags.ts'

export interface Command {
  /** One word, or two: `task get`. */
  readonly name: string
  /** A sentence without the full stop. */
  readonly summary: string
  /** The words that follow the name: `TASK`. */
  readonly takes?: string
  readonly flags: AnyTable
  /** Complete command lines. */
  readonly examples?: readonly string[]
  /** Resolves with the exit code. Throws a UsageError or a CommandError. */
  run(words: Words, io: Io): Promise<number>
}
