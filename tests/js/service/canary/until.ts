/** `eventually` is for tests alone, and this world is made before them. */

const PATIENCE_MS = 60_000
const LOOK_MS = 10

/** Looks until it is so. Rejects, naming `what`, where it is not in a minute. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE_MS
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms`)
    await new Promise((done) => setTimeout(done, LOOK_MS))
  }
}
