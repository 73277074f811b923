/**
 * The SQL of an object's storage, behind the interface that all SQLite shares. Bodies are cut into parts, since a row holds
 * less than a body may weigh. What is used of the platform is declared here in words of our own: Cloudflare's types are a
 * package that no user of another runtime should need.
 */

import type { Database, Value } from '../sql/database.ts'
import { translated } from './errors.ts'

export type SqlValue = string | number | null | ArrayBuffer | ArrayBufferView

interface SqlCursor {
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

/** The most that a row may weigh, or a value in it: "2 MB" (https://developers.cloudflare.com/durable-objects/platform/limits/). */
export const ROW_BYTES = 2_000_000

/** A row has its numbers, too. */
const PART_BYTES = ROW_BYTES - 1_000

export class ObjectDatabase implements Database {
  readonly #storage: ObjectStorage

  constructor(storage: ObjectStorage) {
    this.#storage = storage
  }

  one<T>(sql: string, ...values: readonly Value[]): T | undefined {
    return this.all<T>(sql, ...values)[0]
  }

  all<T>(sql: string, ...values: readonly Value[]): T[] {
    return this.#exec(sql, values).rows as T[]
  }

  run(sql: string, ...values: readonly Value[]): number {
    return this.#exec(sql, values).written
  }

  apart<T>(work: () => T): T {
    let thrown: { readonly error: unknown } | undefined
    try {
      return this.#storage.transactionSync(() => {
        try {
          return work()
        } catch (error) {
          thrown = { error }
          throw error
        }
      })
    } catch (error) {
      // after a full storage there is nothing left to undo, which the attempt says in words of its own
      throw thrown ? thrown.error : translated(error)
    }
  }

  keepBody(task: number, bytes: Uint8Array): void {
    let part = 0
    for (let from = 0; from < bytes.length || part === 0; from += PART_BYTES) {
      const cut = bytes.subarray(from, from + PART_BYTES)
      this.#exec('INSERT OR REPLACE INTO bodies (task, part, bytes) VALUES (?, ?, ?)', [task, part++, cut])
    }
  }

  bodyOf(task: number): Uint8Array | undefined {
    const parts = this.all<{ readonly bytes: ArrayBuffer }>(
      'SELECT bytes FROM bodies WHERE task = ? ORDER BY part',
      task,
    )
    // other code may have written anything in the place of bytes
    if (parts.length === 0 || !parts.every(({ bytes }) => isBuffer(bytes))) return undefined
    const whole = new Uint8Array(parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0))
    let at = 0
    for (const { bytes } of parts) {
      whole.set(new Uint8Array(bytes), at)
      at += bytes.byteLength
    }
    return whole
  }

  #exec(sql: string, values: readonly SqlValue[]): { readonly rows: readonly unknown[]; readonly written: number } {
    try {
      const cursor = this.#storage.sql.exec(sql, ...values)
      return { rows: cursor.toArray(), written: cursor.rowsWritten }
    } catch (error) {
      throw translated(error)
    }
  }
}

const isBuffer = (value: unknown): boolean => Object.prototype.toString.call(value) === '[object ArrayBuffer]'
