// The service with its large bodies in a bucket: what goes wrong with the bucket has a typed end, and no target gets a wrong request.
import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../js/platform/clock.ts'
import { s3Bodies } from '../../js/service/bodies/s3-bodies.ts'
import { createService, type ServiceLogEntry } from '../../js/service.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { eventually } from '../js/eventually.ts'
import { json } from '../js/service/program.ts'
import { type Fault, faultyProxy } from './faulty-proxy.ts'
import { BUCKET, startMoto, startS3sFs } from './servers.ts'
import { target } from './target.ts'

const QUICK = { strategy: 'fixed', initialDelayMs: 20, jitterType: 'NONE' } as const
const LARGE = randomBytes(900_000)
const SHA256 = createHash('sha256').update(LARGE).digest('hex')

async function setup(begin: typeof startMoto = startS3sFs) {
  const server = await begin()
  const proxy = await faultyProxy(server.url)
  const bodies = s3Bodies(`s3://${BUCKET}/tasks?endpoint=${proxy.url}`, {
    clock: systemClock,
    env: server.env,
    silenceMs: 300,
  })
  const log: ServiceLogEntry[] = []
  const store = memoryStore({ everyone: true })
  const service = createService({
    store,
    allowLoopback: true,
    bodies,
    maxBodyBytes: 4_000_000,
    log: (entry) => log.push(entry),
  })
  onTestFinished(() => service.close({ drainMs: 0 }))
  await service.ready
  const ask = (path: string, init: RequestInit = {}) => service.fetch(new Request(`http://localhost${path}`, init))
  const post = (body: object) =>
    ask('/retry-tasks', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ policy: QUICK, body: LARGE.toString('base64'), bodyEncoding: 'base64', ...body }),
    })
  const ended = async (taskId: unknown) => json(await ask(`/retry-tasks/${taskId}`, { headers: { prefer: 'wait=30' } }))
  const attempts = async (taskId: unknown) =>
    (await json(await ask(`/retry-tasks/${taskId}/attempts`))).attempts as readonly {
      kind: string
      errorMessage: string
    }[]
  return { proxy, store, log, ask, post, ended, attempts }
}

test.each([
  ['s3s-fs', startS3sFs],
  ['moto', startMoto],
])('over %s a large body and an upload reach their targets whole', async (_, begin) => {
  const { url, heard } = await target()
  const { ask, post, ended } = await setup(begin)
  const { taskId } = await json(await post({ targetUrl: url }))
  expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  const headers = { 'content-length': `${LARGE.length}`, 'content-type': 'video/mp4' }
  const uploaded = await json(await ask('/bodies', { method: 'POST', headers, body: LARGE }))
  expect(uploaded).toMatchObject({ bytes: LARGE.length, sha256: SHA256 })
  for (let n = 0; n < 2; n++) {
    const task = await post({ targetUrl: url, body: undefined, bodyEncoding: undefined, bodyRef: uploaded.bodyRef })
    await ended((await json(task)).taskId)
  }
  expect(heard).toMatchObject(Array.from({ length: 3 }, () => ({ sha256: SHA256, isWhole: true })))
})

describe('while the bucket is', () => {
  test.each<[Fault, RegExp]>([
    ['busy', /answered 503 SlowDown/],
    ['no bucket', /answered 404 NoSuchBucket/],
    ['silent', /cannot be reached: UND_ERR_HEADERS_TIMEOUT/],
    ['cut', /cannot be reached/],
    ['truncated', /its body broke off/],
    ['stalled', /its body broke off: UND_ERR_BODY_TIMEOUT/],
  ])('%s attempts are given back, and the task goes on when it is well', async (fault, words) => {
    const { url, heard } = await target()
    const { proxy, post, ended, attempts } = await setup()
    const { taskId } = await json(await post({ targetUrl: url, delayMs: 300 }))
    proxy.fault = fault
    await eventually(async () => (await attempts(taskId)).length).toBeGreaterThanOrEqual(2)
    proxy.fault = 'none'
    expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    const made = await attempts(taskId)
    for (const each of made.slice(0, -1)) {
      expect(each).toMatchObject({ kind: 'released', errorMessage: expect.stringMatching(words) })
    }
    expect(heard.filter(({ isWhole }) => isWhole)).toMatchObject([{ sha256: SHA256 }])
  })

  test('busy, a task with a large body is refused as one that can be sent again', async () => {
    const { url } = await target()
    const { proxy, post, store } = await setup()
    proxy.fault = 'busy'
    const refused = await post({ targetUrl: url })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await json(refused)).toMatchObject({
      type: 'urn:redrive:problem:store-unavailable',
      detail: expect.stringContaining('503 SlowDown'),
    })
    expect(await store.counts()).toMatchObject({ pending: 0 })
  })
})

test('a body of which a byte has changed ends its task as body_missing, and its target has never all of it', async () => {
  const { url, heard } = await target()
  const { proxy, post, ended, attempts } = await setup()
  const { taskId } = await json(await post({ targetUrl: url, delayMs: 100 }))
  proxy.fault = 'flipped'
  expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing' })
  expect(await attempts(taskId)).toMatchObject([{ errorMessage: 'its body is not what it was: its SHA-256 differs' }])
  expect(heard.filter(({ isWhole }) => isWhole)).toEqual([])
})

test('a body that was deleted ends its task as body_missing, unsent', async () => {
  const { url, heard } = await target()
  const { proxy, post, ended, store } = await setup()
  const { taskId } = await json(await post({ targetUrl: url, delayMs: 200 }))
  const { ref } = ((await store.get(String(taskId)))?.senderData?.body ?? {}) as { ref?: string }
  const [put] = proxy.passed
  expect(put?.path).toBe(`/${BUCKET}/tasks/${ref}`)
  const bodies = s3Bodies(`s3://${BUCKET}/tasks?endpoint=${proxy.url}`, {
    clock: systemClock,
    env: { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-s3' },
  })
  onTestFinished(() => bodies.close())
  await bodies.delete(String(ref))
  expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing' })
  expect(heard).toEqual([])
})

test('no secret of the bucket is in a task, a log or an answer', async () => {
  const { url } = await target()
  const { proxy, post, ended, log, store, ask } = await setup()
  const { taskId } = await json(await post({ targetUrl: url, delayMs: 200 }))
  proxy.fault = 'busy'
  await eventually(async () => JSON.stringify(await json(await ask(`/retry-tasks/${taskId}/attempts`)))).toContain(
    '503 SlowDown',
  )
  expect(log.find(({ event }) => event === 'bodies_failed')).toMatchObject({
    bodies: `s3://${BUCKET}/tasks/`,
    message: 'the store of bodies answered 503 SlowDown',
  })
  proxy.fault = 'none'
  const told = [
    await ended(taskId),
    log,
    await store.list({ limit: 10 }),
    await json(await ask(`/retry-tasks/${taskId}/explain`)),
  ]
  expect(JSON.stringify(told)).not.toMatch(/a-secret-key-of-s3|AKIATEST|Signature=|X-Amz/i)
})
