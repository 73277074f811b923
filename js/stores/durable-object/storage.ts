/**
 * What is used of a Durable Object's storage, in words of our own: Cloudflare's types are a package that no user of
 * another runtime should need. `ctx.storage` of a class with SQLite fits.
 */

export type SqlValue = string | number | null | ArrayBuffer | ArrayBufferView

export interface SqlCursor {
  toArray(): readonly unknown[]
  readonly rowsWritten: number
}

/** `ctx.storage`. */
export interface ObjectStorage {
  readonly sql: { exec(text: string, ...values: SqlValue[]): SqlCursor }
  /** Undone when `work` throws; one may be in another. */
  transactionSync<T>(work: () => T): T
  /** Resolves once everything written so far is where it survives. */
  sync(): Promise<void>
}

/** What a row may weigh, and a value in it: "2 MB" (https://developers.cloudflare.com/durable-objects/platform/limits/). */
export const ROW_BYTES = 2_000_000
