// Our client of S3 against servers that are not ours: s3s-fs, which verifies signatures, and moto.
import { createHash, randomBytes } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../js/platform/clock.ts'
import { type BodyStore, BodyStoreError } from '../../js/service/bodies/body-store.ts'
import { s3Bodies } from '../../js/service/bodies/s3-bodies.ts'
import type { S3Options } from '../../js/service/bodies/s3-bucket.ts'
import { type Fault, faultyProxy } from './faulty-proxy.ts'
import { BUCKET, type S3Server, startMoto, startS3sFs } from './servers.ts'

const SERVERS = { 's3s-fs': startS3sFs, moto: startMoto } as const

function bodiesAt(
  { url, env }: Pick<S3Server, 'url' | 'env'>,
  prefix = '',
  options: Partial<S3Options> = {},
): BodyStore {
  const bodies = s3Bodies(`s3://${BUCKET}/${prefix}?endpoint=${url}`, { clock: systemClock, env, ...options })
  onTestFinished(() => bodies.close())
  return bodies
}

async function* parts(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const keyOf = (n: number): string => `0123456789abcdef/0199a3b4-6c58-7000-8a4f-${String(n).padStart(12, '0')}`

const read = async (bodies: BodyStore, ref: string) => {
  const found = await bodies.open(ref)
  return found && { bytes: found.bytes, sha256: sha256(await buffer(found.body)) }
}

describe.each(Object.entries(SERVERS))('%s', (_, begin) => {
  test('keeps a body as it is put, under a prefix or none', async () => {
    const server = await begin()
    for (const prefix of ['', 'of/redrive/']) {
      const bodies = bodiesAt(server, prefix)
      for (const [n, size] of [0, 1, 65_536, 3_000_001].entries()) {
        const bytes = randomBytes(size)
        const { ref, sha256: kept } = await bodies.put(keyOf(n), parts(bytes), {
          bytes: size,
          contentType: 'image/png',
        })
        expect([ref, kept]).toEqual([keyOf(n), sha256(bytes)])
        expect(await read(bodies, ref)).toEqual({ bytes: size, sha256: sha256(bytes) })
        expect(await bodies.has?.(ref)).toBe(true)
      }
    }
  })

  test('says of one that is not there that it is gone; deleting it is done', async () => {
    const bodies = bodiesAt(await begin())
    expect(await bodies.open(keyOf(1))).toBeUndefined()
    expect(await bodies.has?.(keyOf(1))).toBe(false)
    await bodies.delete(keyOf(1))
    await bodies.put(keyOf(1), parts(randomBytes(10)), { bytes: 10 })
    await bodies.delete(keyOf(1))
    expect(await bodies.has?.(keyOf(1))).toBe(false)
  })

  test('keeps nothing of a body that breaks off', async () => {
    const bodies = bodiesAt(await begin())
    const broken = async function* () {
      yield randomBytes(1_000)
      throw new Error('its sender left')
    }
    await expect(bodies.put(keyOf(1), broken(), { bytes: 100_000 })).rejects.toThrow('its sender left')
    await expect(bodies.put(keyOf(2), parts(randomBytes(10)), { bytes: 11 })).rejects.toThrow(BodyStoreError)
    expect([await bodies.has?.(keyOf(1)), await bodies.has?.(keyOf(2))]).toEqual([false, false])
  })

  test('is asked by many at once', async () => {
    const bodies = bodiesAt(await begin())
    const bytes = Array.from({ length: 100 }, () => randomBytes(20_000))
    await Promise.all(bytes.map((each, n) => bodies.put(keyOf(n), parts(each), { bytes: each.length })))
    const found = await Promise.all(bytes.map((__, n) => read(bodies, keyOf(n))))
    expect(found).toEqual(bytes.map((each) => ({ bytes: 20_000, sha256: sha256(each) })))
  })
})

test('s3s-fs refuses a secret that is wrong, and the error has its code and no secret', async () => {
  const { url, env } = await startS3sFs()
  const bodies = bodiesAt({ url, env: { ...env, AWS_SECRET_ACCESS_KEY: 'wrong-secret' } })
  const put = bodies.put(keyOf(1), parts(randomBytes(10)), { bytes: 10 })
  await expect(put).rejects.toThrow(/^the store of bodies answered 403 SignatureDoesNotMatch$/)
  await expect(bodies.open(keyOf(1))).rejects.toThrow(BodyStoreError)
})

test('s3s-fs knows a bucket by the name of its host', async () => {
  const domain = 's3.test'
  const { url, env } = await startS3sFs({ domain })
  const { port } = new URL(url)
  const lookup: LookupFunction = (_, options, done) =>
    options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
  const bodies = s3Bodies(`s3://${BUCKET}?endpoint=http://${domain}:${port}&style=virtual`, {
    clock: systemClock,
    env,
    lookup,
  })
  onTestFinished(() => bodies.close())
  const bytes = randomBytes(1_000)
  await bodies.put(keyOf(1), parts(bytes), { bytes: 1_000 })
  expect(await read(bodies, keyOf(1))).toEqual({ bytes: 1_000, sha256: sha256(bytes) })
  expect(await read(bodiesAt({ url, env }), keyOf(1))).toEqual({ bytes: 1_000, sha256: sha256(bytes) })
})

describe('a bucket on a bad day', () => {
  async function setup() {
    const server = await startS3sFs()
    const proxy = await faultyProxy(server.url)
    const bodies = bodiesAt({ url: proxy.url, env: server.env }, '', { silenceMs: 500 })
    const bytes = randomBytes(1_000_000)
    await bodies.put(keyOf(1), parts(bytes), { bytes: bytes.length })
    return { proxy, bodies, bytes }
  }

  test.each<[Fault, RegExp]>([
    ['busy', /answered 503 SlowDown/],
    ['no bucket', /answered 404 NoSuchBucket/],
    ['silent', /cannot be reached: UND_ERR_HEADERS_TIMEOUT/],
    ['cut', /cannot be reached: (UND_ERR_SOCKET|ECONNRESET)/],
  ])('that is %s fails what is opened, put and deleted as one that may be back', async (fault, words) => {
    const { proxy, bodies, bytes } = await setup()
    proxy.fault = fault
    await expect(bodies.open(keyOf(1))).rejects.toThrow(words)
    await expect(bodies.put(keyOf(2), parts(bytes), { bytes: bytes.length })).rejects.toThrow(BodyStoreError)
    await expect(bodies.delete(keyOf(1))).rejects.toThrow(BodyStoreError)
    proxy.fault = 'none'
    expect(await read(bodies, keyOf(1))).toEqual({ bytes: bytes.length, sha256: sha256(bytes) })
  })
})
