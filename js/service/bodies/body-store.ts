/**
 * Where bodies lie that are too large for a store of tasks: a folder, a bucket, or whatever else keeps bytes under a name. A task has the
 * reference of its body, its length and its SHA-256, so what comes back is known to be what went in before its last byte goes out.
 */

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { RedriveError } from 'redrive'
import type { UnmadeError } from 'redrive/internal'

export interface BodyStore {
  /** For people: where it is, without a secret. */
  readonly shown: string
  /**
   * Keeps a body of exactly `bytes` bytes under a new `key`, such as `2f1a…/0199…`, and only then resolves. A put that fails leaves
   * nothing that `open` finds. Rejects with what `body` throws, or with a `BodyStoreError`.
   */
  put(
    key: string,
    body: AsyncIterable<Uint8Array>,
    about: { readonly bytes: number; readonly contentType?: string },
  ): Promise<{ readonly ref: string; readonly sha256: string }>
  /** undefined: it is gone. Rejects with a `BodyStoreError` where that is not known. */
  open(ref: string): Promise<{ readonly body: Readable; readonly bytes: number } | undefined>
  /** Whether it is there, where that costs less than to open it. */
  has?(ref: string): Promise<boolean>
  /** One that is gone is deleted. */
  delete(ref: string): Promise<void>
  /** Deletes what is older than `ms`, and resolves with the number. Absent: the store does that by rules of its own. */
  sweep?(ms: number): Promise<number>
  close(): Promise<void>
}

/**
 * `BODY_STORE_UNAVAILABLE`: the store of bodies did not do what it was asked for, and may do it later. Its words have no secret, and, as
 * tenants read them, no place.
 */
export class BodyStoreError extends RedriveError implements UnmadeError {
  override readonly name = 'BodyStoreError'
  readonly unmade = {}
  /** More of it, for the operator alone. */
  readonly detail: string | undefined
  constructor(what: string, { detail, cause }: { readonly detail?: string; readonly cause?: unknown } = {}) {
    super('BODY_STORE_UNAVAILABLE', what, { cause })
    this.detail = detail
  }
}

/** `BODY_MISSING`: the body of a task is gone, or is another by now. */
export class BodyMissingError extends RedriveError implements UnmadeError {
  override readonly name = 'BodyMissingError'
  readonly unmade = { reason: 'body_missing' } as const
  constructor(what: string) {
    super('BODY_MISSING', what)
  }
}

/** The facts that a body is known by. */
export interface BodyFacts {
  readonly bytes: number
  /** 64 hex digits. */
  readonly sha256: string
}

/**
 * The bytes of a body, whose last ones come only when all of them were what they were, as far as that is known. Fails with a `BodyMissingError` where they are not,
 * and with a `BodyStoreError` where the store breaks off.
 */
export function verified(source: Readable, facts: Pick<BodyFacts, 'bytes'> & Partial<BodyFacts>): Readable {
  const read = Readable.from(verifiedParts(source, facts), { objectMode: false })
  // a generator that was never read does not end its source
  return read.once('close', () => source.destroy())
}

async function* verifiedParts(
  source: Readable,
  { bytes, sha256 }: Parameters<typeof verified>[1],
): AsyncGenerator<Uint8Array> {
  const hash = sha256 === undefined ? undefined : createHash('sha256')
  let size = 0
  let held: Uint8Array | undefined
  for await (const part of partsOf(source)) {
    size += part.byteLength
    if (size > bytes) throw new BodyMissingError(`its body has more than ${bytes} bytes by now`)
    hash?.update(part)
    if (held) yield held
    held = part
  }
  if (size < bytes) throw new BodyMissingError(`its body has ${size} of ${bytes} bytes by now`)
  if (hash?.digest('hex') !== sha256) throw new BodyMissingError('its body is not what it was: its SHA-256 differs')
  if (held) yield held
}

async function* partsOf(source: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* source as AsyncIterable<Uint8Array>
  } catch (error) {
    throw error instanceof BodyStoreError ? error : new BodyStoreError(`its body broke off: ${codeOf(error)}`)
  }
}

/** A message may quote what was read, or who asked; a code does not. */
export const codeOf = (error: unknown): string => {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return String(code ?? name ?? 'unknown')
}

/** Hashes and counts what passes. */
export class Meter {
  bytes = 0
  readonly #hash = createHash('sha256')

  async *through(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const part of body) {
      this.bytes += part.byteLength
      this.#hash.update(part)
      yield part
    }
  }

  /** Once, when all has passed. */
  sha256(): string {
    return this.#hash.digest('hex')
  }
}
