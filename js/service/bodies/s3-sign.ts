/** Signs requests to a bucket by AWS Signature Version 4, with the signer of AWS' own SDK and the hashes of Node. */

import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import type { S3Credentials } from './s3-credentials.ts'

type Source = string | ArrayBuffer | ArrayBufferView

/** The form in which the signer takes SHA-256. */
class Sha256 {
  readonly #secret: Source | undefined
  #hash: Hash | Hmac

  constructor(secret?: Source) {
    this.#secret = secret
    this.#hash = this.#fresh()
  }

  update(part: Source): void {
    this.#hash.update(bytesOf(part))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    this.#hash = this.#fresh()
  }

  #fresh(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret))
  }
}

function bytesOf(source: Source): Uint8Array {
  if (typeof source === 'string') return Buffer.from(source)
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  return new Uint8Array(source)
}

export interface Unsigned {
  readonly method: string
  /** With its escapes, as it is sent. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/** Says that the signature does not cover the body: it is streamed, and only its task knows its hash. */
export const UNSIGNED = 'UNSIGNED-PAYLOAD'

/** The headers of a request, with its signature. `x-amz-content-sha256` has to be among those that are given. */
export async function signedHeaders(
  { method, url, headers }: Unsigned,
  { region, credentials, at }: { readonly region: string; readonly credentials: S3Credentials; readonly at: Date },
): Promise<Readonly<Record<string, string>>> {
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256: Sha256, uriEscapePath: false })
  const query = Object.fromEntries(url.searchParams)
  const { protocol, hostname, pathname: path, host } = url
  const request = { method, protocol, hostname, path, query, headers: { host, ...headers } }
  const { headers: signed } = await signer.sign(request, { signingDate: at })
  return signed
}
