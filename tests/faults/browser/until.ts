/** Waiting, in a run that lives in real time. */

const LOOK_MS = 100

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Looks until it is so (true), or is given up (false). */
export async function until(isSo: () => Promise<boolean> | boolean, isLate: () => boolean): Promise<boolean> {
  while (!(await isSo())) {
    if (isLate()) return false
    await wait(LOOK_MS)
  }
  return true
}

/** Looks for so long at most. */
export function within(ms: number, isSo: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = Date.now() + ms
  return until(isSo, () => Date.now() > end)
}
