/**
 * Web Locks, as far as they can be relied on: a lock is held inside the callback of one request and freed by its end;
 * no tab polls. A lock manager that refuses, or does not answer, is as none.
 */

import { systemClock, within } from '../../platform/clock.ts'

/** Longest wait for the lock manager, in real milliseconds. */
const ANSWER_MS = 1_000

export interface LockTerms {
  /** Steals the lock from its holder, who hears of it as the end of its own. */
  readonly isStolen?: boolean
}

/** One lock: asked for from the start, then held, then over for good. */
export class Lock {
  /** Whether it was granted: false once it was dropped before, or refused. */
  readonly granted: Promise<boolean>
  /** Resolves once it is not held any more, or never will be; with the lock manager's error where that, or a thief, is why. */
  readonly ended: Promise<unknown>
  #isHeld = false
  #isOver = false
  #release = (): void => {}
  readonly #queued = new AbortController()

  constructor(locks: LockManager, name: string, { isStolen = false }: LockTerms = {}) {
    let grant = (_: boolean): void => {}
    this.granted = new Promise((resolve) => {
      grant = resolve
    })
    const released = new Promise<void>((resolve) => {
      this.#release = resolve
    })
    const held = (): Promise<void> | undefined => {
      if (this.#isOver) return undefined // dropped while the grant was on its way
      this.#isHeld = true
      grant(true)
      return released
    }
    const over = (error?: unknown): unknown => {
      this.#isHeld = false
      grant(false)
      return error
    }
    // there is no taking back of a theft
    const options = isStolen ? { steal: true } : { signal: this.#queued.signal }
    this.ended = quietly(() => locks.request(name, options, held)).then(() => over(), over)
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  drop(): void {
    this.#isHeld = false
    this.#isOver = true
    this.#release()
    this.#queued.abort()
  }

  /** `granted`, and false where the lock manager does not answer in time. */
  grantedInTime(): Promise<boolean> {
    return within(systemClock, ANSWER_MS, 'a lock', this.granted).catch(() => false)
  }
}

/** Names of locks, by how they are. */
export interface Snapshot {
  /** Held exclusively: a tab that watches a lock is not its holder. */
  readonly held: ReadonlySet<string>
  readonly queued: readonly string[]
}

/** `undefined`: the lock manager does not answer. */
export async function snapshot(locks: LockManager): Promise<Snapshot | undefined> {
  const asked = quietly(() => locks.query())
  const infos = await within(systemClock, ANSWER_MS, 'the lock manager', asked).catch(() => undefined)
  return infos && { held: new Set(exclusive(infos.held)), queued: exclusive(infos.pending) }
}

const exclusive = (infos: readonly LockInfo[] = []): string[] =>
  infos.flatMap(({ name, mode }) => (name !== undefined && mode === 'exclusive' ? [name] : []))

/** Resolves once no tab holds the lock exclusively: with true, or with false where that will not be known. */
export function watch(locks: LockManager, name: string, signal: AbortSignal): Promise<boolean> {
  // shared, so that those who watch do not wait for each other, nor look like holders
  return quietly(() => locks.request(name, { mode: 'shared', signal }, () => true)).catch(() => false)
}

/** Some lock managers throw where they should reject. */
async function quietly<T>(ask: () => Promise<T>): Promise<T> {
  return ask()
}
