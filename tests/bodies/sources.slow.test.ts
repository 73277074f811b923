// Bodies that callers have in buckets of their own: `bodyRef: s3://BUCKET/KEY`.
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../js/platform/clock.ts'
import { s3Bucket } from '../../js/service/bodies/s3-bucket.ts'
import { eventually } from '../js/eventually.ts'
import { tokenFor } from '../js/service/api/setup.ts'
import { folder, json, post, start } from '../js/service/program.ts'
import { onLoopback } from '../loopback.ts'
import { type Fault, faultyProxy } from './faulty-proxy.ts'
import { BUCKET, startMoto, startS3sFs } from './servers.ts'
import { target } from './target.ts'

const LARGE = randomBytes(900_000)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const QUICK = { strategy: 'fixed', initialDelayMs: 20, jitterType: 'NONE' } as const
/** As people name files. */
const STRANGE = 'for/acme/Größe & Preis (50%) + 1.pdf'

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** A service that may read below `for/acme` in a bucket for acme, and below `for/all` for tasks of no tenant. */
async function setup({
  begin = startS3sFs,
  env = {},
  targets,
}: {
  readonly begin?: typeof startMoto
  readonly env?: Readonly<Record<string, string>>
  readonly targets?: readonly string[]
} = {}) {
  const server = await begin()
  const { url, heard } = await target()
  const proxy = await faultyProxy(server.url)
  const objects = s3Bucket(`s3://${BUCKET}?endpoint=${server.url}`, 'it', { clock: systemClock, env: server.env })
  onTestFinished(() => objects.close())
  const put = (key: string, bytes: Uint8Array) =>
    objects.put(key, whole(bytes), { 'content-length': `${bytes.length}` })
  const tokens = ['acme', 'other', null].map((tenant) =>
    tokenFor(`${tenant}`, tenant, 'tasks:write', 'tasks:read', 'admin'),
  )
  const of = (folderOf: string) => `s3://${BUCKET}/for/${folderOf}?endpoint=${proxy.url}`
  const bodySources: Record<string, object> = { [of('acme')]: { tenants: ['acme'] }, [of('all')]: {} }
  const signing = { hooks: { keys: [{ from: 'env:HOOK' }] } }
  const config = {
    tokens,
    bodySources,
    signing,
    allowHttp: true,
    allowPrivate: ['127.0.0.0/8'],
    targets: targets ?? [new URL(url).origin],
  }
  const cwd = folder({ 'redrive.config.json': config })
  const service = await start(['--max-upload', '1MiB'], cwd, { ...server.env, ...env })
  const headersOf = (tenant: string | null) => ({ authorization: `Bearer ${tenant}` })
  const task = (tenant: string | null, body: object) =>
    post(`${service.url}/retry-tasks`, { policy: QUICK, ...body }, headersOf(tenant))
  const ask = (tenant: string | null, path: string, headers = {}) =>
    fetch(`${service.url}${path}`, { headers: { ...headersOf(tenant), ...headers } })
  const ended = async (tenant: string | null, taskId: unknown) =>
    json(await ask(tenant, `/retry-tasks/${taskId}`, { prefer: 'wait=30' }))
  /** Takes a bucket out of the settings, and is heard. */
  const without = async (address: string) => {
    const { [address]: _, ...rest } = bodySources
    writeFileSync(join(cwd, 'redrive.config.json'), JSON.stringify({ ...config, bodySources: rest }))
    service.child.kill('SIGHUP')
    await service.logged('reloaded')
  }
  return { url, heard, service, proxy, objects, put, task, ask, ended, of, without }
}

test.each([
  ['s3s-fs', startS3sFs],
  ['moto', startMoto],
])(
  'over %s an object of its caller goes out as it is, stays where it is, and is shown by its name',
  async (_, begin) => {
    const { url, heard, objects, put, task, ask, ended } = await setup({ begin })
    await put(STRANGE, LARGE)
    const bodyRef = `s3://${BUCKET}/${STRANGE}`
    const { taskId } = await json(await task('acme', { targetUrl: `${url}later`, bodyRef, delayMs: 3_600_000 }))
    expect(await json(await ask('acme', `/retry-tasks/${taskId}`))).toMatchObject({ bodyRef, status: 'PENDING' })
    expect(Buffer.from(await (await ask('acme', `/retry-tasks/${taskId}/body`)).arrayBuffer()).equals(LARGE)).toBe(true)

    const sent = await json(await task('acme', { targetUrl: url, bodyRef }))
    expect(await ended('acme', sent.taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    expect(heard).toMatchObject([{ sha256: sha256(LARGE), bytes: LARGE.length, isWhole: true }])
    expect(await objects.head(STRANGE)).toMatchObject({ bytes: LARGE.length })
  },
)

test('a tenant names what is its own, and hears the same of what is not and of what is not there', async () => {
  const { url, put, task } = await setup()
  for (const key of ['for/acme/a', 'for/acme-secret/a', 'for/all/a', 'outside/a']) await put(key, LARGE)
  const tried = async (tenant: string | null, key: string) => {
    const answer = await task(tenant, { targetUrl: url, bodyRef: `s3://${key}` })
    const { detail, type } = await json(answer)
    return answer.status === 201 ? 201 : `${type} ${detail}`
  }
  expect([await tried('acme', `${BUCKET}/for/acme/a`), await tried(null, `${BUCKET}/for/all/a`)]).toEqual([201, 201])
  const refused = [
    ['other', `${BUCKET}/for/acme/a`],
    ['other', `${BUCKET}/for/all/a`],
    ['acme', `${BUCKET}/for/all/a`],
    ['acme', `${BUCKET}/for/acme-secret/a`],
    ['acme', `${BUCKET}/for/acme/../acme-secret/a`],
    ['acme', `${BUCKET}/for/acme/./a`],
    ['acme', `${BUCKET}/for/acme//a`],
    ['acme', `${BUCKET}/for/acme/%2e%2e/acme-secret/a`],
    ['acme', `${BUCKET}/for/acme/none`],
    ['acme', 'another-bucket/for/acme/a'],
    [null, `${BUCKET}/outside/a`],
  ] as const
  const said = new Set<unknown>()
  for (const [tenant, key] of refused) said.add(await tried(tenant, key))
  expect([...said]).toEqual([
    'urn:redrive:problem:body-ref-unknown bodyRef: there is no such object that this tenant may name',
  ])
})

test('an object that is larger than an upload may be is refused', async () => {
  const { url, put, task } = await setup()
  await put('for/all/large', randomBytes(2 ** 20 + 1))
  const answer = await task(null, { targetUrl: url, bodyRef: `s3://${BUCKET}/for/all/large` })
  expect([answer.status, (await json(answer)).detail]).toEqual([
    422,
    'bodyRef: the object has 1048577 bytes; at most 1048576 (--max-upload)',
  ])
})

test.each([
  ['changed', /its body is another by now: its ETag differs/],
  ['longer', /its body has 900001 of 900000 bytes by now/],
  ['gone', /its body is gone/],
] as const)('one that is %s by the time it is sent is not sent', async (what, why) => {
  const { url, heard, objects, put, task, ask, ended } = await setup()
  await put('for/all/a', LARGE)
  const answer = await task(null, { targetUrl: url, bodyRef: `s3://${BUCKET}/for/all/a`, delayMs: 500 })
  const { taskId } = await json(answer)
  if (what === 'gone') await objects.delete('for/all/a')
  else await put('for/all/a', randomBytes(what === 'longer' ? LARGE.length + 1 : LARGE.length))
  expect(await ended(null, taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing', attemptNumber: 1 })
  const { attempts } = await json(await ask(null, `/retry-tasks/${taskId}/attempts`))
  expect((attempts as { errorMessage: string }[]).at(-1)?.errorMessage).toMatch(why)
  expect(heard.filter(({ isWhole }) => isWhole)).toEqual([])
})

test.each<Fault>(['busy', 'no bucket', 'truncated', 'cut'])(
  'a bucket that is %s costs no attempt, and is waited for',
  async (fault) => {
    const { url, heard, service, proxy, put, task, ended } = await setup()
    await put('for/all/a', LARGE)
    const { taskId } = await json(
      await task(null, { targetUrl: url, bodyRef: `s3://${BUCKET}/for/all/a`, delayMs: 300 }),
    )
    proxy.fault = fault
    if (fault === 'truncated') await eventually(() => heard.length).toBeGreaterThan(0)
    else await service.logged('bodies_failed')
    proxy.fault = 'none'
    expect(await ended(null, taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
    expect(heard.filter(({ isWhole }) => isWhole)).toMatchObject([{ sha256: sha256(LARGE) }])
  },
)

test('a bucket that is away when a task comes is told to its caller, and nothing is stored', async () => {
  const { url, proxy, put, task, ask } = await setup()
  await put('for/all/a', LARGE)
  proxy.fault = 'busy'
  const answer = await task(null, { targetUrl: url, bodyRef: `s3://${BUCKET}/for/all/a` })
  expect([answer.status, (await json(answer)).detail]).toEqual([
    503,
    'the bucket of the body answered 503; nothing was stored',
  ])
  expect(await json(await ask(null, '/retry-tasks'))).toEqual({ tasks: [] })
})

test('a task whose bucket is taken out of the settings waits unsent until it is back', async () => {
  const { url, heard, put, task, ask, of, without, service } = await setup()
  await put('for/acme/a', LARGE)
  const { taskId } = await json(
    await task('acme', { targetUrl: url, bodyRef: `s3://${BUCKET}/for/acme/a`, delayMs: 800 }),
  )
  await without(of('acme'))
  expect((await service.logged('parked')).message).toBe('there is no such place of bodies for this tenant')
  // the log says so before the store has it
  await eventually(async () => (await json(await ask('acme', `/retry-tasks/${taskId}`))).parked).toBe(true)
  expect(heard).toEqual([])
})

test('a signature covers the object', async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const verified: unknown[] = []
  const origin = await onLoopback(async (request, response) => {
    verified.push(new Webhook(secret).verify(await text(request), request.headers as Record<string, string>))
    response.end()
  })
  const { task, put, ended } = await setup({ env: { HOOK: secret }, targets: [origin] })
  await put('for/all/a', Buffer.from('{"pieces":1}'))
  const given = { targetUrl: origin, bodyRef: `s3://${BUCKET}/for/all/a`, signing: 'hooks' }
  const { taskId } = await json(await task(null, given))
  expect(await ended(null, taskId)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  expect(verified).toEqual([{ pieces: 1 }])
})
