/**
 * Buckets in which tasks name bodies of their callers' own: `s3://BUCKET/KEY`. The service reads them, and neither writes nor deletes there.
 * It reads with rights of its own, so its operator says which part of which bucket a tenant may name: no tenant reaches more by the service
 * than by itself. A body is known by its length and its ETag; one that is another by now is not sent.
 */

import process from 'node:process'
import type { Readable } from 'node:stream'
import type { Clock } from 'redrive'
import { isWellFormed } from 'redrive/internal'
import { isNamed, namesOf, type TenantList, tenantsOf } from '../named.ts'
import { BodyMissingError, BodyStoreError, verified } from './body-store.ts'
import type { S3Bucket } from './s3-bucket.ts'
import { s3Place } from './s3-url.ts'

export interface BodySourceOptions {
  /** Those that may name bodies in it; null stands for tasks of no tenant, '*' for all. @default `[null]` */
  readonly tenants?: TenantList
}

/** By address: `s3://BUCKET/PREFIX?region=…&endpoint=…`. */
export type BodySourcesOptions = Readonly<Record<string, BodySourceOptions>>

/** A body of its caller's own, as the record of its task has it. */
export type SourceBody = {
  /** `s3://BUCKET/KEY`. */
  readonly source: string
  readonly bytes: number
  /** '': its server gives none. */
  readonly etag: string
}

/** `s3://BUCKET/KEY`, whose key is as S3 has it, without the escapes of a URL. */
export const SOURCE_SHAPE: RegExp = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/[ -~\u00a0-\uffff]{1,1024}$/

interface Source {
  readonly address: string
  readonly bucket: string
  readonly prefix: string
  readonly tenants: TenantList
}

interface Place {
  readonly source: Source
  readonly key: string
}

export interface BodySourcesSettings {
  readonly clock: Clock
  /** Length of the largest body. */
  readonly maxBytes: number
  /** Hears of each call that a bucket has not answered. */
  readonly failed?: (error: BodyStoreError, bucket: string) => void
  /** @default that of the process */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Throws a TypeError that names the address and what was expected. */
export const checkBodySources = (given: BodySourcesOptions): void => void sourcesIn(given, {})

const NOT_NAMED = 'there is no such place of bodies for this tenant'

export class BodySources {
  readonly maxBytes: number
  readonly #settings: BodySourcesSettings
  #sources: readonly Source[]
  /** Kept through reloads: requests of a bucket may be under way. */
  readonly #buckets = new Map<string, Promise<S3Bucket>>()

  /** Throws like `checkBodySources`. */
  constructor(given: BodySourcesOptions, settings: BodySourcesSettings) {
    this.#settings = settings
    this.maxBytes = settings.maxBytes
    this.#sources = this.#read(given)
  }

  /** Takes effect with the next request. The result does it, so that a mistake changes nothing. Throws like `checkBodySources`. */
  changed(given: BodySourcesOptions): () => void {
    const sources = this.#read(given)
    return () => {
      this.#sources = sources
    }
  }

  /** Why tasks of a tenant may not name this body. undefined: they may. */
  refuse(ref: string, tenant: string | null): string | undefined {
    return this.#placeOf(ref, tenant) ? undefined : NOT_NAMED
  }

  /** undefined: there is no such body that the tenant may name. Rejects with a BodyStoreError. */
  async find(ref: string, tenant: string | null): Promise<SourceBody | undefined> {
    const place = this.#placeOf(ref, tenant)
    const found = place && (await this.#ask(place, (bucket) => bucket.head(place.key)))
    return found && { source: ref, bytes: found.bytes, etag: found.etag }
  }

  /** Rejects with a BodyMissingError or a BodyStoreError. */
  async open({ source: ref, bytes, etag }: SourceBody, tenant: string | null): Promise<Readable> {
    const place = this.#placeOf(ref, tenant)
    // its settings have changed since it was asked: the next attempt is parked
    if (!place) throw new BodyStoreError(NOT_NAMED)
    const found = await this.#ask(place, (bucket) => bucket.get(place.key))
    if (!found) throw new BodyMissingError('its body is gone')
    if (found.bytes === bytes && found.etag === etag) return verified(found.body, { bytes })
    found.body.destroy()
    const why =
      found.bytes === bytes ? 'is another by now: its ETag differs' : `has ${found.bytes} of ${bytes} bytes by now`
    throw new BodyMissingError(`its body ${why}`)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#buckets.values()].map(async (bucket) => (await bucket).close()))
  }

  #read(given: BodySourcesOptions): readonly Source[] {
    return sourcesIn(given, this.#settings.env ?? process.env)
  }

  #placeOf(ref: string, tenant: string | null): Place | undefined {
    const [, bucket, key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(ref) ?? []
    if (!isKey(key)) return undefined
    const source = this.#sources.find(
      (each) => each.bucket === bucket && key.startsWith(each.prefix) && isNamed(tenant, each.tenants),
    )
    return source && { source, key }
  }

  async #ask<T>({ source: { address, bucket } }: Place, call: (bucket: S3Bucket) => Promise<T>): Promise<T> {
    const { clock, env = process.env, failed } = this.#settings
    let opened = this.#buckets.get(address)
    if (!opened) {
      opened = import('./s3-bucket.ts').then(({ s3Bucket }) =>
        s3Bucket(address, 'the bucket of the body', { clock, env }),
      )
      this.#buckets.set(address, opened)
    }
    try {
      return await call(await opened)
    } catch (error) {
      failed?.(error as BodyStoreError, `s3://${bucket}`)
      throw error
    }
  }
}

/** No part of it is one that a server which keeps objects as files would go by, and all of it can be escaped. */
const isKey = (key: string): boolean =>
  isWellFormed(key) && key.split('/').every((part) => part !== '' && part !== '.' && part !== '..')

function sourcesIn(given: BodySourcesOptions, env: Readonly<Record<string, string | undefined>>): readonly Source[] {
  return namesOf(given, 'bodySources', /^/).map((address) => {
    const at = `bodySources['${address}']`
    const { bucket, prefix } = placeIn(address, env)
    const { tenants, ...more } = given[address] ?? {}
    const strange = Object.keys(more)[0]
    if (strange !== undefined) throw new TypeError(`${at}.${strange}: no such key; there is tenants`)
    return { address, bucket, prefix, tenants: tenantsOf(tenants, at) }
  })
}

function placeIn(address: string, env: Readonly<Record<string, string | undefined>>) {
  try {
    return s3Place(address, env)
  } catch (error) {
    throw new TypeError(`bodySources: ${(error as Error).message}`)
  }
}
