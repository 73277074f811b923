/** The part of a store's contract for a service that sends for many: what all its processes must know beside the tasks. */

/** One entry. Its value is plain JSON. */
export interface RegistryEntry {
  readonly name: string
  readonly value: unknown
  /** Rises with each change in the store, over all entries: the value of `version` right after this one was written. */
  readonly version: number
}

/** A small versioned map in the store: policies, operations under way, settings that processes have to agree on. */
export interface Registry {
  /**
   * All entries whose names begin with `prefix`, by name, and the version of the whole map: 0 where nothing was ever written. Where
   * that is still `since`, `entries` is undefined, and the look costs next to nothing.
   */
  read(query: { readonly prefix: string; readonly since?: number }): Promise<{
    readonly version: number
    readonly entries: readonly RegistryEntry[] | undefined
  }>
  /**
   * Writes an entry, or deletes it with null, in one step. With `expected` only where the entry has that version (0: there is none);
   * 'changed' otherwise, and nothing is written. Resolves as durably as an `enqueue`. Writing the value that is there, as it reads in JSON, or
   * deleting what is not there changes no version. Rejects with a TypeError or RangeError where the name is empty or no well-formed text, the
   * value is none that JSON can tell, or `expected` is no version.
   */
  write(name: string, value: unknown, expected?: number): Promise<'written' | 'changed'>
}

/** A scope in which nothing new is sent. Neither `origin` nor `principal`: everything. Both: the lane of the two. */
export interface Pause {
  readonly id: string
  readonly origin?: string
  readonly principal?: string | null
  readonly reason?: string
  /** Epoch ms, of the caller's clock. */
  readonly at: number
}

/**
 * Pauses hold over all processes: once `put` has resolved, no claim and no lease of `enqueue` takes a task of the scope. A claim finds its lanes
 * as if it had bounded them to 0; a turn without a claim shows them, and counts what they have due, as any others. What is in flight ends,
 * and deadlines pass.
 */
export interface Pauses {
  /**
   * Resolves as durably as an `enqueue`. An id that is there is replaced. Rejects with a TypeError or RangeError where the id is empty or no
   * well-formed text, a part of the scope is there and undefined, or `origin` is no exact origin.
   */
  put(pause: Pause): Promise<void>
  /** False: there is none of that id. What was due is reported as 'due'. */
  lift(id: string): Promise<boolean>
  /** By id. */
  list(): Promise<readonly Pause[]>
}
