/** The world of one command: its words, its environment, where it writes. `main` takes it as an argument, so that a test is a call and not a process. */

import { harmless } from 'redrive/internal'

interface Output {
  write(text: string): unknown
}

export interface Io {
  /** Without the program and the script. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: Output
  readonly stderr: Output
  /** Whether stdout is a terminal. */
  readonly isTTY: boolean
  /** Width of that terminal. @default 80 */
  readonly columns?: number | undefined
  /** Width of the terminal that stderr is. undefined: it is none. */
  readonly errorColumns?: number | undefined
  /** Relative paths begin here. */
  readonly cwd: string
  /** That of the package. @default 'unknown' */
  readonly version?: string | undefined
}

/** A command that cannot be understood: one line, and exit code 2. Nothing was done. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly exitCode: number = 2
}

/** A command that was understood and failed: one line, and exit code 1, unless another is given. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Writes a line. */
export const say = (io: Pick<Io, 'stdout'>, text: string): void => {
  io.stdout.write(`${text}\n`)
}

/** JSON whose control characters are escapes: `JSON.stringify` leaves those beyond ASCII, and those of writing direction, as they are. */
export const harmlessJson = (json: string): string => json.split('\n').map(harmless).join('\n')

export const printJson = (io: Pick<Io, 'stdout'>, value: unknown): void => {
  say(io, harmlessJson(JSON.stringify(value, null, 2)))
}

/** An error of Node or of a library, as a part of a line: its first line, and no stack. */
export const reasonOf = (error: unknown): string =>
  withoutLogin((error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '')

/** URLs in a text, without a user and a password, also where the rest of them was cut off. */
export const withoutLogin = (text: string): string =>
  text.replace(/\/\/[^/\s]*@/g, '//…@').replace(/\/\/[^/\s'@]*:[^/\s'@]*…(?!@)/g, '//…')
