/** How much of a suite runs: `quick` with every change, `full` before a larger one lands, `all` each night. */

export type Size = 'quick' | 'full' | 'all'

/** By hand, a file runs in full. */
export const SIZE: Size = (globalThis.process?.env.REDRIVE_SIZE as Size | undefined) ?? 'full'

/** The number of cases, seeds or kills for this size. */
export const bySize = (quick: number, full: number, all: number = full): number => ({ quick, full, all })[SIZE]
