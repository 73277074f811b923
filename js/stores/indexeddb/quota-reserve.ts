/**
 * A reserve of storage for when the quota is full. A browser then refuses every write, also the one that says a task has
 * been sent and its body may go: what is held could never leave. So some noise is stored, to be deleted at that moment.
 *
 * As browsers count, and as measured in Chromium: a write is held against the quota before anything that its own
 * transaction deletes is gone; and of a log-structured file deleting makes more. So the noise is one value so large that
 * it becomes a file of its own, too random to be compressed into something smaller, deleted in a transaction of its own.
 */

import { seededDraw } from '../../platform/random.ts'
import { done } from './transact.ts'

/** Its name on the disk. */
const KEY = 'ballast'
/**
 * More than a browser overshoots (it looks anew only now and then, and counts less than it writes), and then dozens of
 * tasks: where there is a log, one that is claimed and settled costs many times its own size. What is left then waits.
 */
const BYTES = 2 ** 19

/** Stores the reserve, if it is not there. */
export async function reserve(tx: IDBTransaction): Promise<void> {
  const meta = tx.objectStore('meta')
  if ((await done(meta.getKey(KEY))) !== undefined) return
  const noise = Uint32Array.from({ length: BYTES / 4 }, seededDraw(1n))
  await done(meta.put(new Uint8Array(noise.buffer), KEY))
}

/** Deletes the reserve. Says whether there was one. */
export async function spend(tx: IDBTransaction): Promise<boolean> {
  const meta = tx.objectStore('meta')
  const isThere = (await done(meta.getKey(KEY))) !== undefined
  if (isThere) await done(meta.delete(KEY))
  return isThere
}
