/**
 * Objects of one bucket of S3, or of a server that speaks as S3 does. An object appears whole or not at all, so a put that is cut off leaves
 * nothing.
 */

import type { LookupFunction } from 'node:net'
import process from 'node:process'
import type { Readable } from 'node:stream'
import type { Clock } from 'redrive'
import { Pool } from 'undici'
import { SecretError, Secrets } from '../secrets.ts'
import { BodyStoreError, codeOf } from './body-store.ts'
import { credentialsOfRoles, type GiveS3Credentials, s3Credentials } from './s3-credentials.ts'
import { type S3Answer, s3Exchange } from './s3-exchange.ts'
import { signedHeaders, UNSIGNED } from './s3-sign.ts'
import { s3Place } from './s3-url.ts'

const CONNECT_MS = 3_000
/** Longest silence of a bucket that is to answer, or to go on. */
const SILENCE_MS = 10_000
const CONNECTIONS = 256
/** SHA-256 of nothing. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
/** Bytes of an answer that says what went wrong. */
const ERROR_BYTES = 16_384

export interface S3Options {
  readonly clock: Clock
  /** @default that of the process */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Gives credentials that neither the environment nor the file of AWS' tools has. @default those of roles, with the environment of the process; else none */
  readonly ofRoles?: GiveS3Credentials
  /** Longest silence, in milliseconds. @default 10_000 */
  readonly silenceMs?: number
  /** Finds addresses; for tests. @default the system's */
  readonly lookup?: LookupFunction
}

interface S3Object {
  readonly bytes: number
  /** Changes with its content; '': the server gives none. */
  readonly etag: string
}

/** Keys are whole ones, without the escapes of a URL. All reject with a BodyStoreError where the bucket does not do what it is asked for. */
export interface S3Bucket {
  readonly bucket: string
  /** '' or text that ends with a slash. */
  readonly prefix: string
  /** undefined: there is no such object. */
  head(key: string): Promise<S3Object | undefined>
  /** Likewise. Its body has to be read to its end, or destroyed. */
  get(key: string): Promise<(S3Object & { readonly body: Readable }) | undefined>
  /** Rejects with what `body` throws, too. */
  put(key: string, body: AsyncIterable<Uint8Array>, headers: Readonly<Record<string, string>>): Promise<void>
  /** One that is gone is deleted. */
  delete(key: string): Promise<void>
  close(): Promise<void>
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<Uint8Array>
}

/** `called`: how errors name it, whose words tenants read. Throws a TypeError for an address that is none. */
export function s3Bucket(
  address: string,
  called: string,
  { clock, env = process.env, ofRoles, silenceMs = SILENCE_MS, lookup }: S3Options,
): S3Bucket {
  const { bucket, prefix, origin, base, region } = s3Place(address, env)
  const secrets = new Secrets({ clock, env })
  const roles = ofRoles ?? (env === process.env ? credentialsOfRoles() : undefined)
  const pool = new Pool(origin, {
    connections: CONNECTIONS,
    connect: { timeout: CONNECT_MS, ...(lookup && { lookup }) },
    headersTimeout: silenceMs,
    bodyTimeout: silenceMs,
    pipelining: 1,
    allowH2: false,
  })

  const send = async (method: 'GET' | 'HEAD' | 'PUT' | 'DELETE', key: string, { headers = {}, body }: Asked) => {
    const url = new URL(`${origin}${base}/${escaped(key)}`)
    const unsigned = { method, url, headers: { ...headers, 'x-amz-content-sha256': body ? UNSIGNED : EMPTY } }
    const at = new Date(clock.now())
    const signed = await signedHeaders(unsigned, { region, credentials: await s3Credentials(env, secrets, roles), at })
    return s3Exchange(pool, {
      path: url.pathname,
      method,
      headers: { ...signed },
      body: (body ?? null) as Readable | null,
    })
  }

  /** Asks what may be asked twice: a connection that was kept may have ended at this very moment. */
  const ask = async (method: 'GET' | 'HEAD' | 'DELETE', key: string): Promise<S3Answer> => {
    try {
      return await send(method, key, {})
    } catch (error) {
      if (!LOST.has(codeOf(error))) throw unreached(error)
    }
    return send(method, key, {}).catch((error) => {
      throw unreached(error)
    })
  }

  const unreached = (error: unknown): BodyStoreError => {
    const detail = error instanceof SecretError ? error.message : undefined
    return new BodyStoreError(`${called} cannot be reached: ${codeOf(error)}`, {
      cause: error,
      ...(detail && { detail }),
    })
  }

  /** Throws what an answer says that is none of those expected. */
  const refuse = async ({ status, body }: S3Answer): Promise<never> => {
    throw new BodyStoreError(`${called} answered ${status} ${await errorCodeIn(body)}`.trim())
  }

  /** Throws where it is not the object that a 404 is about, but its bucket, or something on the way there. */
  const gone = async ({ body }: S3Answer): Promise<undefined> => {
    const code = await errorCodeIn(body)
    if (code !== 'NoSuchKey') throw new BodyStoreError(`${called} answered 404 ${code}`.trim())
  }

  return {
    bucket,
    prefix,
    async head(key) {
      const answer = await ask('HEAD', key)
      answer.body.resume()
      if (answer.status === 404) return undefined
      return objectIn(answer) ?? refuse(answer)
    },
    async get(key) {
      const answer = await ask('GET', key)
      if (answer.status === 404) return gone(answer)
      const found = objectIn(answer)
      return found ? { ...found, body: answer.body } : refuse(answer)
    },
    async put(key, body, headers) {
      const mine = { failed: undefined as unknown }
      let answer: S3Answer
      try {
        answer = await send('PUT', key, { headers, body: noted(body, mine) })
      } catch (error) {
        // an error of the body's own is its reader's to tell
        throw mine.failed ?? unreached(error)
      }
      if (answer.status !== 200) return refuse(answer)
      answer.body.resume()
    },
    async delete(key) {
      const answer = await ask('DELETE', key)
      if (answer.status === 404) return gone(answer)
      if (answer.status !== 204 && answer.status !== 200) return refuse(answer)
      answer.body.resume()
    },
    close: () => pool.destroy(),
  }
}

/** Codes of a connection that has ended under a request. */
const LOST: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** The path of an object, as it is sent and signed: all but the unreserved characters of RFC 3986 is escaped. */
const escaped = (key: string): string =>
  key
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/')

function objectIn({ status, headers }: S3Answer): S3Object | undefined {
  const { 'content-length': length = 'unknown', etag = '' } = headers
  return status === 200 && /^\d+$/.test(length) ? { bytes: Number(length), etag } : undefined
}

async function* noted(body: AsyncIterable<Uint8Array>, mine: { failed: unknown }): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    mine.failed = error
    throw error
  }
}

/** The code of S3's error in XML, such as `AccessDenied`; '': it has none. */
async function errorCodeIn(body: Readable): Promise<string> {
  let text = ''
  try {
    for await (const part of body) {
      text += String(part)
      if (text.length > ERROR_BYTES) break
    }
  } catch {
    // what has come says enough, or nothing
  }
  return /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? ''
}
