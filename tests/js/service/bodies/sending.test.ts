// Bodies that lie apart from their tasks, on their way to a real target: whole and right, or the task says why not.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type BodyStore, BodyStoreError, createService, type ServiceOptions } from '../../../../js/service.ts'
import { memoryStore } from '../../../../js/stores/memory.ts'
import { onLoopback } from '../../../loopback.ts'
import { eventually } from '../../eventually.ts'
import { json } from '../program.ts'
import { QUICK, setup as serviceSetup } from '../service-setup.ts'
import { type MemoryBodies, memoryBodies } from './memory-bodies.ts'

interface Heard {
  readonly headers: IncomingHttpHeaders
  readonly method: string
  readonly bytes: number
  readonly sha256: string
  /** All of it came. */
  readonly isWhole: boolean
}

/** A target that notes what comes, whole or not, and then answers. */
async function target(answer: (heard: Heard) => number = () => 200) {
  const heard: Heard[] = []
  const origin = await onLoopback((request, response) => {
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
      hash.update(part)
    })
    request.on('close', () => {
      const { method = '', headers, complete: isWhole } = request
      const last: Heard = { headers, method, bytes, sha256: hash.digest('hex'), isWhole }
      heard.push(last)
      if (!isWhole) return
      const status = answer(last)
      response.writeHead(status, status === 307 ? { location: '/again' } : {}).end()
    })
    request.on('error', () => {})
  })
  return { url: `${origin}/`, heard }
}

async function setup(bodies: BodyStore, options: Partial<ServiceOptions> = {}) {
  const made = await serviceSetup({ bodies, ...options })
  const { ask } = made
  const post = async (body: object) => {
    const answer = await made.post('/retry-tasks', { policy: QUICK, ...body })
    expect(answer.status).toBe(201)
    return String((await json(answer)).taskId)
  }
  const upload = async (bytes: Uint8Array<ArrayBuffer>) => {
    const headers = { 'content-length': `${bytes.byteLength}` }
    const answer = await ask('/bodies', { method: 'POST', headers, body: bytes })
    expect(answer.status).toBe(201)
    return String((await json(answer)).bodyRef)
  }
  /** Hands a task over, and has it sent once `before` has happened: what comes first is not the machine's choice. */
  const postBefore = async (before: () => void, body: object) => {
    const taskId = await post({ ...body, delayMs: 3_600_000 })
    before()
    expect((await made.post(`/retry-tasks/${taskId}/due`, {})).status).toBe(200)
    return taskId
  }
  const ended = async (taskId: string) => json(await ask(`/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
  const attempts = async (taskId: string) =>
    (await json(await ask(`/retry-tasks/${taskId}/attempts`))).attempts as { errorMessage: string; kind: string }[]
  return { ...made, post, postBefore, upload, ended, attempts }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
/** Bytes as they were, in so many parts. */
const partsOf = (bytes: Uint8Array, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size)),
  )
/** Keys that sign, for one test. */
function signingBy(whsec: string) {
  process.env.TEST_WHSEC = whsec
  onTestFinished(() => void delete process.env.TEST_WHSEC)
  return { signing: { hooks: { keys: [{ from: 'env:TEST_WHSEC' }] } } }
}

/** A store of bodies whose streams are made by `change`. */
function changed(
  base: MemoryBodies,
  change: (bytes: Uint8Array) => { readonly body: Readable; readonly bytes: number },
): BodyStore {
  return {
    ...base,
    async open(ref) {
      const bytes = base.held.get(ref)
      return bytes && change(bytes)
    },
  }
}

const LARGE = randomBytes(300_000)
const SENT = { body: LARGE.toString('base64'), bodyEncoding: 'base64' } as const

describe('a large body', () => {
  test('reaches its target whole with its length, at each attempt', async () => {
    const { url, heard } = await target(() => (heard.length < 3 ? 503 : 200))
    const { post, ended } = await setup(memoryBodies())
    const taskId = await post({ targetUrl: url, ...SENT, headers: { 'content-type': 'image/png' } })
    expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 3 })
    for (const each of heard) {
      expect(each).toMatchObject({ sha256: sha256(LARGE), isWhole: true })
      expect(each.headers).toMatchObject({ 'content-length': '300000', 'content-type': 'image/png' })
    }
  })

  test('that was uploaded goes to many targets, and goes on after a redirect within the origin', async () => {
    const { url, heard } = await target((each) => (each.method === 'POST' && heard.length === 1 ? 307 : 200))
    const { post, upload, ended } = await setup(memoryBodies())
    const bodyRef = await upload(LARGE)
    expect(await ended(await post({ targetUrl: url, bodyRef }))).toMatchObject({ status: 'SUCCEEDED' })
    expect(await ended(await post({ targetUrl: url, bodyRef }))).toMatchObject({ status: 'SUCCEEDED' })
    expect(heard.map(({ sha256: hash }) => hash)).toEqual([sha256(LARGE), sha256(LARGE), sha256(LARGE)])
  })

  test('of no bytes is sent as one', async () => {
    const { url, heard } = await target()
    const { post, upload, ended } = await setup(memoryBodies())
    await ended(await post({ targetUrl: url, bodyRef: await upload(new Uint8Array()) }))
    expect(heard).toMatchObject([{ bytes: 0, isWhole: true, headers: { 'content-length': '0' } }])
  })

  test('is signed over all of its bytes', async () => {
    const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const { url, heard } = await target()
    const { post, ended } = await setup(memoryBodies(), signingBy(whsec))
    const text = JSON.stringify({ text: 'x'.repeat(200_000) })
    await ended(await post({ targetUrl: url, body: text, signing: 'hooks' }))
    const [first] = heard
    const verified = new Webhook(whsec).verify(text, first?.headers as Record<string, string>)
    expect(verified).toMatchObject({ text: expect.any(String) })
    expect(first?.bytes).toBe(text.length)
  })
})

describe('a body that is not what it was', () => {
  const flipped = (bytes: Uint8Array): Uint8Array => {
    const copy = Buffer.from(bytes)
    copy.writeUInt8((copy.at(-1) as number) ^ 1, copy.length - 1)
    return copy
  }
  const inParts = (bytes: Uint8Array) => partsOf(bytes, 50_000)

  test.each<[string, (bytes: Uint8Array) => { readonly body: Readable; readonly bytes: number }, RegExp]>([
    ['a byte is another', (bytes) => ({ body: inParts(flipped(bytes)), bytes: bytes.length }), /its SHA-256 differs/],
    ['it says another length', (all) => ({ body: inParts(all), bytes: all.length - 1 }), /299999 of 300000 bytes/],
    ['it is shorter', (all) => ({ body: inParts(all.subarray(1)), bytes: all.length }), /299999 of 300000 bytes/],
    [
      'it is longer',
      (all) => ({ body: inParts(Buffer.concat([all, all])), bytes: all.length }),
      /more than 300000 bytes/,
    ],
  ])('ends its task as body_missing, and no target has all of it: %s', async (_, change, words) => {
    const { url, heard } = await target()
    const base = memoryBodies()
    const { post, ended, attempts, log } = await setup(changed(base, change))
    const taskId = await post({ targetUrl: url, ...SENT })
    expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing', attemptNumber: 1 })
    expect((await attempts(taskId)).map(({ errorMessage }) => errorMessage)).toEqual([expect.stringMatching(words)])
    expect(heard.filter(({ isWhole }) => isWhole)).toEqual([])
    expect(log.filter(({ event }) => event === 'exhausted')).toMatchObject([{ reason: 'body_missing' }])
  })

  test('a body that is gone ends its task, and nothing is sent', async () => {
    const { url, heard } = await target()
    const bodies = memoryBodies()
    const { postBefore, ended, upload } = await setup(bodies)
    const bodyRef = await upload(LARGE)
    const taskId = await postBefore(() => bodies.held.clear(), { targetUrl: url, bodyRef })
    expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing' })
    expect(heard).toEqual([])
  })

  test.each(['opened', 'read to be signed'])(
    'one that is gone when it is %s ends the task the same way',
    async (when) => {
      const { url, heard } = await target()
      const bodies = memoryBodies()
      const { postBefore, ended } = await setup(bodies, signingBy(`whsec_${Buffer.alloc(32, 7).toString('base64')}`))
      const signed = when === 'opened' ? {} : { signing: 'hooks' }
      const taskId = await postBefore(() => bodies.held.clear(), { targetUrl: url, ...SENT, ...signed })
      expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing' })
      expect(heard).toEqual([])
    },
  )
})

describe('a store of bodies that fails', () => {
  test('gives the attempt back, unsent and not counted, until it answers', async () => {
    const { url, heard } = await target()
    const bodies = memoryBodies()
    const { postBefore, ended, attempts } = await setup(bodies)
    const taskId = await postBefore(() => bodies.failing.set('open', 3), { targetUrl: url, ...SENT })
    expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    expect(heard).toHaveLength(1)
    const made = await attempts(taskId)
    const released = Array(3).fill(['released', 'open is away'])
    expect(made.map(({ kind, errorMessage }) => [kind, errorMessage])).toEqual([...released, ['succeeded', null]])
  })

  test('in the middle of a body cuts the request off, and the next one is whole', async () => {
    const { url, heard } = await target()
    let breaks = 2
    const bodies = changed(memoryBodies(), (bytes) => ({
      bytes: bytes.length,
      body: Readable.from(
        (async function* () {
          yield bytes.subarray(0, 100_000)
          yield bytes.subarray(100_000, 200_000)
          if (breaks-- > 0) throw new BodyStoreError('it broke off')
          yield bytes.subarray(200_000)
        })(),
      ),
    }))
    const { post, ended, attempts, ask } = await setup(bodies)
    const taskId = await post({ targetUrl: url, ...SENT })
    expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    expect((await attempts(taskId)).map(({ kind }) => kind)).toEqual(['released', 'released', 'succeeded'])
    expect(heard.filter(({ isWhole }) => isWhole)).toMatchObject([{ sha256: sha256(LARGE) }])
    // its target has done nothing wrong
    const { lanes } = (await json(await ask('/stats'))) as { lanes: readonly { circuit: string }[] }
    expect(lanes.every(({ circuit }) => circuit === 'CLOSED')).toBe(true)
  })

  test('where there is none any more parks the task', async () => {
    const { url, heard } = await target()
    const bodies = memoryBodies()
    const store = memoryStore({ everyone: true })
    const { post, service } = await setup(bodies, { store })
    const taskId = await post({ targetUrl: url, ...SENT, delayMs: 3_600_000 })
    service.drain()
    const other = createService({ store, allowLoopback: true })
    onTestFinished(() => other.close({ drainMs: 0 }))
    await other.ready
    await store.due?.([taskId], 0)
    await eventually(async () => (await store.get(taskId))?.parked).toBe(true)
    expect(heard).toEqual([])
  })
})

test.each([
  // it answers at once, and reads nothing
  ['its target has answered', true, { status: 'EXHAUSTED', reason: 'not_retryable' }],
  ['its target could not be connected to', false, { status: 'EXHAUSTED', reason: 'max_attempts' }],
])('a body is not read any further once its attempt is over: %s', async (_, isThere, end) => {
  let [opened, closed] = [0, 0]
  const bodies = changed(memoryBodies(), (bytes) => {
    opened++
    const body = partsOf(bytes, 100_000)
    body.once('close', () => closed++)
    return { body, bytes: bytes.length }
  })
  const origin = await onLoopback((_, response) => void response.writeHead(413).end())
  const { post, ended } = await setup(bodies, { maxBodyBytes: 4_000_000 })
  const targetUrl = isThere ? `${origin}/` : 'http://127.0.0.1:1/'
  const body = randomBytes(1_000_000).toString('base64')
  const taskId = await post({ targetUrl, body, bodyEncoding: 'base64', policy: { ...QUICK, maxAttempts: 1 } })
  expect(await ended(taskId)).toMatchObject(end)
  await eventually(() => closed).toBe(opened)
  expect(opened).toBe(1)
})
