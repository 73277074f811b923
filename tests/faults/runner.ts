/** What every kill run does around its blows: it says how far it is, waits until nothing is left, and ends with a verdict. */

import type { Check } from './checks.ts'
import type { Figure } from './evidence.ts'
import { report } from './report.ts'

const LOOK_MS = 100
/** Between two lines about a run that goes on. */
export const TELL_MS = 5_000

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Looks until it is so (true), or is given up (false). */
export async function until(
  isSo: () => Promise<boolean> | boolean,
  isLate: () => boolean,
  lookMs: number = LOOK_MS,
): Promise<boolean> {
  while (!(await isSo())) {
    if (isLate()) return false
    await wait(lookMs)
  }
  return true
}

/** Looks for so long at most. */
export function within(ms: number, isSo: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = Date.now() + ms
  return until(isSo, () => Date.now() > end)
}

export type Say = (text: string) => void

/** Says lines, each with the seconds since the run began. */
export function speaker(): Say {
  const startedAt = Date.now()
  return (text) => {
    process.stdout.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${text}\n`)
  }
}

/** How far a run is. */
export interface Progress {
  readonly isDone: boolean
  /** Whatever moves while something is left to do. */
  readonly state: readonly (number | string)[]
  readonly words: string
}

/** Gives a run time, and no more blows: true once nothing is left, false once nothing has moved for `stalledMs`. */
export async function drain(
  look: () => Promise<Progress>,
  { stalledMs, say, lookMs }: { readonly stalledMs: number; readonly say: Say; readonly lookMs?: number },
): Promise<boolean> {
  let last = ''
  let movedAt = Date.now()
  let toldAt = 0
  const isDone = async (): Promise<boolean> => {
    const { isDone, state, words } = await look()
    if (isDone) return true
    if (state.join() !== last) movedAt = Date.now()
    last = state.join()
    if (Date.now() > toldAt + TELL_MS) {
      toldAt = Date.now()
      say(words)
    }
    return false
  }
  return await until(isDone, () => Date.now() > movedAt + stalledMs, lookMs)
}

/** Prints what happened and what must hold; the checks that do not hold make the run fail. */
export function conclude(figures: readonly Figure[], checks: readonly Check[]): readonly Check[] {
  process.stdout.write(`${report(figures, checks)}\n`)
  const broken = checks.filter(({ ok }) => !ok)
  if (broken.length > 0) process.exitCode = 1
  return broken
}

/** The program of a run: help where that was asked for; a wrong option is named without a stack. */
export async function main<Options>(
  name: string,
  { help, read }: { readonly help: string; readonly read: (args: readonly string[]) => Options | undefined },
  run: (options: Options) => Promise<void>,
): Promise<void> {
  try {
    const options = read(process.argv.slice(2))
    if (options === undefined) process.stdout.write(help)
    else await run(options)
  } catch (error) {
    const words = error instanceof RangeError ? error.message : error instanceof Error ? error.stack : String(error)
    process.stderr.write(`${name}: ${words}\n`)
    process.exit(1)
  }
}
