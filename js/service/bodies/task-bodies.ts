/**
 * The bodies of tasks that lie in a store of bodies: how they get there, whose they are, and how they come back. A body is there before its
 * task is stored, so a process that dies between the two leaves a body that no task has, and never a task without its body.
 */

import type { Clock } from 'redrive'
import type { StoredTask } from 'redrive/store'
import { keyFor, readRef, refOf } from './body-ref.ts'
import { SOURCE_SHAPE, type SourceBody } from './body-sources.ts'
import { type BodyFacts, BodyMissingError, type BodyStore, BodyStoreError, verified } from './body-store.ts'

/** A body that this service keeps, as the record of its task has it. */
export type KeptBody = BodyFacts & {
  /** Under this the store of bodies has it. */
  readonly ref: string
  /** Reference of an upload, which other tasks may have, too. Absent: the body is the task's alone. */
  readonly upload?: string
}

/** A body that lies apart from its task. */
export type TaskBody = KeptBody | SourceBody

export interface BodyLimits {
  /** Bodies up to so many bytes stay with their task. */
  readonly inlineBytes: number
  readonly maxUploadBytes: number
  /** So long a body that was uploaded may be named. */
  readonly uploadTtlMs: number
}

/** A body that was uploaded, as its caller hears of it. */
export interface Uploaded extends BodyFacts {
  readonly bodyRef: string
  readonly expiresAt: number
}

export class TaskBodies {
  readonly limits: BodyLimits
  readonly #store: BodyStore
  readonly #clock: Clock
  readonly #failed: (error: BodyStoreError) => void

  /** `failed`: hears of each call that the store of bodies has not answered. */
  constructor(store: BodyStore, limits: BodyLimits, clock: Clock, failed: (error: BodyStoreError) => void = () => {}) {
    this.#store = store
    this.limits = limits
    this.#clock = clock
    this.#failed = failed
  }

  /** Keeps what a caller sends. Rejects with what `body` throws, or with a BodyStoreError. */
  async upload(
    id: string,
    tenant: string | null,
    body: AsyncIterable<Uint8Array>,
    about: { readonly bytes: number; readonly contentType?: string },
  ): Promise<Uploaded> {
    const { sha256 } = await this.#reporting(this.#store.put(keyFor(tenant, id), body, about))
    const { bytes } = about
    const expiresAt = this.#clock.now() + this.limits.uploadTtlMs
    return { bodyRef: refOf(id, { bytes, sha256 }), bytes, sha256, expiresAt }
  }

  /** When an upload goes; undefined: the reference is none. */
  keptUntil(bodyRef: string): number | undefined {
    const read = readRef(bodyRef)
    return read && read.createdAt + this.limits.uploadTtlMs
  }

  /** The body that a tenant has uploaded under this reference; undefined: there is none, or none any more. Rejects with a BodyStoreError. */
  async find(bodyRef: string, tenant: string | null): Promise<KeptBody | undefined> {
    const read = readRef(bodyRef)
    if (!read || this.#clock.now() >= (this.keptUntil(bodyRef) ?? 0)) return undefined
    const { id, bytes, sha256 } = read
    const ref = keyFor(tenant, id)
    return (await this.#has(ref)) ? { ref, bytes, sha256, upload: bodyRef } : undefined
  }

  /** Moves the body of a new task here. Rejects with a BodyStoreError. */
  async keep(id: string, tenant: string | null, body: Uint8Array): Promise<KeptBody> {
    const put = this.#store.put(keyFor(tenant, id), one(body), { bytes: body.byteLength })
    const { ref, sha256 } = await this.#reporting(put)
    return { ref, bytes: body.byteLength, sha256 }
  }

  /** The body of a task as a stream, whose last bytes come only when all of them are right. Rejects with a BodyMissingError or a BodyStoreError. */
  async open({ ref, bytes, sha256 }: KeptBody): Promise<ReturnType<typeof verified>> {
    const found = await this.#reporting(this.#store.open(ref))
    if (!found) throw new BodyMissingError('its body is gone')
    if (found.bytes === bytes) return verified(found.body, { bytes, sha256 })
    found.body.destroy()
    throw new BodyMissingError(`its body has ${found.bytes} of ${bytes} bytes by now`)
  }

  /** Deletes the body of a task that will not be sent again, if it is the task's alone. Rejects with a BodyStoreError. */
  async dropBody(task: Pick<StoredTask, 'senderData'>): Promise<void> {
    const body = bodyIn(task)
    if (body && 'ref' in body && body.upload === undefined) await this.#reporting(this.#store.delete(body.ref))
  }

  async #reporting<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      if (error instanceof BodyStoreError) this.#failed(error)
      throw error
    }
  }

  async #has(ref: string): Promise<boolean> {
    if (this.#store.has) return this.#reporting(this.#store.has(ref))
    const found = await this.#reporting(this.#store.open(ref))
    found?.body.destroy()
    return found !== undefined
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The body that a task has elsewhere; undefined: none. Throws where what its record says is none of this service's making. */
export function bodyIn({ senderData = {} }: Pick<StoredTask, 'senderData'>): TaskBody | undefined {
  const { body } = senderData
  if (body === undefined) return undefined
  const { ref, source, bytes, sha256, upload, etag } = (body ?? {}) as Readonly<Record<string, unknown>>
  const hasLength = Number.isSafeInteger(bytes) && (bytes as number) >= 0
  if (typeof source === 'string' && SOURCE_SHAPE.test(source) && hasLength && typeof etag === 'string') {
    return { source, bytes: bytes as number, etag }
  }
  const isRight =
    typeof ref === 'string' &&
    /^[\w./-]{1,256}$/.test(ref) &&
    hasLength &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    (upload === undefined || typeof upload === 'string')
  if (!isRight) throw new TypeError('senderData.body: expected a reference, a length and a SHA-256')
  return { ref, bytes: bytes as number, sha256, ...(upload !== undefined && { upload: upload as string }) }
}
