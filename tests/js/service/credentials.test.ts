// Credentials and signatures on their way: from where their operator keeps them to the target, and nowhere else.

import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createService } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { bySize } from '../../size.ts'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { target } from './loopback.ts'
import { json } from './program.ts'
import { QUICK, secretFile, setup } from './service-setup.ts'

type Made = Awaited<ReturnType<typeof setup>>
/** The id of a task that is handed over. */
const handed = async ({ post }: Made, task: object) =>
  (await json(await post('/retry-tasks', { json: 1, ...task }))).taskId
const shown = async ({ ask }: Made, taskId: unknown, headers = {}) =>
  json(await ask(`/retry-tasks/${taskId}`, { headers }))
const WAIT = { prefer: 'wait=20' }

describe('a credential', () => {
  test('is read for each attempt, laid over its headers, and shown nowhere', async () => {
    const { origin, url, seen } = await target(() => (seen.length < 2 ? 503 : 200))
    const { from } = secretFile('a-secret-of-acme\n')
    const { post, ended, ask, log, store } = await setup({
      credentials: {
        'acme-api': {
          origins: [origin],
          headers: { Authorization: { from, prefix: 'Bearer ' }, 'x-tenant-key': { from } },
        },
      },
    })
    const given = { targetUrl: url, json: 1, credential: 'acme-api', policy: QUICK }
    const task = await ended(await post('/retry-tasks', given))
    expect(task).toMatchObject({ status: 'SUCCEEDED', credential: 'acme-api', headers: {} })
    expect(seen.map(({ authorization }) => authorization)).toEqual(Array(2).fill('Bearer a-secret-of-acme'))
    expect(seen[0]).toMatchObject({ 'x-tenant-key': 'a-secret-of-acme', 'content-type': 'application/json' })
    const told = [
      JSON.stringify([log, task, (await store.list({ limit: 10 })).tasks]),
      ...(await Promise.all(
        ['attempts', 'explain'].map(async (part) => (await ask(`/retry-tasks/${task.taskId}/${part}`)).text()),
      )),
      await (await ask('/metrics')).text(),
    ]
    expect(told.join()).not.toContain('a-secret')
  })

  test('may be named by its tenants, for its origins, and says no more to others than one that there is not', async () => {
    const { origin, url } = await target()
    const tokens = [tokenFor('a', 'acme', 'tasks:write'), tokenFor('b', 'other', 'tasks:write')]
    const { post } = await setup({
      tokens,
      credentials: { mine: { origins: [origin], tenants: ['acme'], headers: () => ({ 'x-key': 'k' }) } },
      signing: { hooks: { keys: [{ from: 'env:NONE' }], tenants: ['acme'] } },
    })
    const said = async (token: string, more: object) => {
      const task = { targetUrl: url, json: 1, delayMs: 60_000, ...more }
      const answer = await post('/retry-tasks', task, { authorization: `Bearer ${token}` })
      const { type = '', detail = '' } = await json(answer)
      return [answer.status, String(type).replace('urn:redrive:problem:', ''), detail]
    }
    expect(await said('a', { credential: 'mine', signing: 'hooks' })).toEqual([201, '', ''])
    const none = 'credential: there is no credential of this name for this tenant'
    for (const [token, more, why] of [
      ['b', { credential: 'mine' }, none],
      ['b', { credential: 'nothing' }, none],
      ['a', { credential: 'nothing' }, none],
      ['a', { credential: '__proto__' }, none],
      ['b', { signing: 'hooks' }, 'signing: there is no signing of this name for this tenant'],
      [
        ...(['a', { targetUrl: 'http://localhost:1/', credential: 'mine' }] as const),
        'credential: the credential of this name is not for http://localhost:1',
      ],
    ] as const)
      expect(await said(token, more)).toEqual([422, 'credential-refused', why])
    expect((await said('a', { credential: 'not a name' })).slice(0, 2)).toEqual([422, 'invalid'])
  })

  test('that is refused is asked for anew once, and then its task is parked until its operator has another', async () => {
    const { origin, url, seen } = await target(({ authorization }) => (authorization === 'new' ? 200 : 401))
    const { from, write } = secretFile('old')
    const options = { credentials: { api: { origins: [origin], headers: { authorization: { from } } } } }
    const made = await setup(options)
    const taskId = await handed(made, { targetUrl: url, credential: 'api', policy: QUICK })
    await eventually(() => shown(made, taskId)).toMatchObject({ parked: true, status: 'PENDING', attemptNumber: 0 })
    expect(seen.map(({ authorization }) => authorization)).toEqual(['old', 'old'])
    write('new')
    await made.service.reload(options)
    await eventually(() => shown(made, taskId)).toMatchObject({ status: 'SUCCEEDED' })
    expect(seen.at(-1)?.authorization).toBe('new')
  })

  test('that cannot be read gives the attempt back, and the log says where it was to be', async () => {
    const { origin, url, seen } = await target()
    const { from, write } = secretFile('')
    const made = await setup({ credentials: { api: { origins: [origin], headers: { authorization: { from } } } } })
    const taskId = await handed(made, { targetUrl: url, credential: 'api', policy: QUICK })
    const { log } = made
    await eventually(() => log.filter(({ event }) => event === 'credential_failed').length).toBe(1)
    expect(log.find(({ event }) => event === 'credential_failed')).toMatchObject({
      level: 'warn',
      name: 'api',
      message: `${from}: it is empty`,
    })
    expect(seen).toEqual([])
    write('here')
    expect(await shown(made, taskId, WAIT)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  })

  test.each(['taken away', 'taken from its tenant', 'taken from its origin'])(
    'that is %s parks what waits for it',
    async (how) => {
      const { origin, url, seen } = await target()
      const api = { origins: [origin], headers: () => ({ 'x-key': 'k' }) }
      const made = await setup({ credentials: { api } })
      const { service, post, ask, log } = made
      const taskId = await handed(made, { targetUrl: url, credential: 'api', delayMs: 60_000 })
      const changed = {
        'taken away': {},
        'taken from its tenant': { api: { ...api, tenants: ['acme'] } },
        'taken from its origin': { api: { ...api, origins: ['https://other.test'] } },
      }
      await service.reload({ credentials: changed[how as keyof typeof changed] })
      await post(`/retry-tasks/${taskId}/due`, {})
      await eventually(() => shown(made, taskId)).toMatchObject({ parked: true })
      expect(log.filter(({ event }) => event === 'parked')).toHaveLength(1)
      const explained = JSON.stringify(await (await ask(`/retry-tasks/${taskId}/explain`)).json())
      expect(explained).toContain('by the settings of the service')
      expect(explained).toContain('waits for POST /retry-tasks/{taskId}/due, or a reload of the settings, since')
      // which a service has not
      expect(explained).not.toMatch(/resume\(|setPrincipal/)
      expect(seen).toEqual([])
      await service.reload({ credentials: { api } })
      await eventually(() => shown(made, taskId)).toMatchObject({ status: 'SUCCEEDED' })
      expect(seen[0]).toMatchObject({ 'x-key': 'k' })
    },
  )

  test('of a function is asked with the facts of the attempt, and its error is not told', async () => {
    const { origin, url, seen } = await target(() => (seen.length < 2 ? 401 : 200))
    const asked: object[] = []
    let failures = 0
    const { post, ended, log } = await setup({
      credentials: {
        api: {
          origins: [origin],
          headers: ({ signal: _, ...facts }) => {
            asked.push(facts)
            if (failures++ === 0) throw new Error('a-secret')
            return { authorization: 'Bearer abc' }
          },
        },
      },
    })
    await ended(await post('/retry-tasks', { targetUrl: url, json: 1, credential: 'api', policy: QUICK }))
    const facts = { origin, principal: null, withheldHeaders: [] }
    expect(asked).toEqual([
      { ...facts, unauthorized: false },
      { ...facts, unauthorized: false },
      { ...facts, unauthorized: true },
    ])
    expect(log.find(({ event }) => event === 'credential_failed')).toMatchObject({ message: 'its function failed' })
    expect(JSON.stringify(log)).not.toContain('a-secret')
  })
})

describe('a signature', () => {
  const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

  test('is made for each attempt over what is sent, and passes the reference library', async () => {
    const { url, seen } = await target(() => (seen.length < 2 ? 503 : 200))
    const { from } = secretFile(whsec)
    const { post, ended, log, store } = await setup({ signing: { hooks: { keys: [{ from }] } } })
    const given = { targetUrl: url, json: { order: 'Zoë' }, signing: 'hooks', policy: QUICK }
    const task = await ended(await post('/retry-tasks', given))
    expect(task).toMatchObject({ status: 'SUCCEEDED', signing: 'hooks' })
    for (const { body, path: _, ...headers } of seen) {
      expect(headers['webhook-id']).toBe(task.taskId)
      expect(new Webhook(whsec).verify(body, headers as Record<string, string>)).toEqual({ order: 'Zoë' })
    }
    const told = JSON.stringify([log, task, (await store.list({ limit: 10 })).tasks])
    expect(told).not.toContain(whsec.slice(6))
    for (const { 'webhook-signature': signature } of seen) expect(told).not.toContain(String(signature).slice(3))
  })

  test('whose key cannot be read gives the attempt back', async () => {
    const { url, seen } = await target()
    const { from, write } = secretFile('whsec_short')
    const made = await setup({ signing: { hooks: { keys: [{ from }] } } })
    const taskId = await handed(made, { targetUrl: url, signing: 'hooks', policy: QUICK })
    await eventually(() => made.log.filter(({ event }) => event === 'signing_failed').length).toBe(1)
    expect(seen).toEqual([])
    write(whsec)
    expect(await shown(made, taskId, WAIT)).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  })
})

const COUNT = bySize(250, 500, 2_000)

test('S16 each task of two tenants has the credential of its own, over many of them', async () => {
  const [one, two] = [await target(), await target()]
  const tokens = [
    tokenFor('a', 'acme', 'tasks:write', 'tasks:read'),
    tokenFor('b', 'beta', 'tasks:write', 'tasks:read'),
  ]
  const headers = (key: string) => () => ({ authorization: `Bearer ${key}` })
  const { post, ask } = await setup({
    tokens,
    concurrencyPerOrigin: 200,
    credentials: {
      acme: { origins: [one.origin, two.origin], tenants: ['acme'], headers: headers('of-acme') },
      beta: { origins: [one.origin, two.origin], tenants: ['beta'], headers: headers('of-beta') },
      'beta.two': { origins: [two.origin], tenants: ['beta'], headers: headers('of-beta-two') },
    },
  })
  const expected = new Map<string, string | undefined>()
  for (let n = 0; n < COUNT; n += 250) {
    for (const [tenant, token] of [
      ['acme', 'a'],
      ['beta', 'b'],
    ] as const) {
      const tasks = Array.from({ length: 125 }, (_, i) => {
        const key = `${tenant}-${n + i}`
        const isTwo = i % 2 === 1
        const credential = i % 5 === 0 ? undefined : tenant === 'beta' && isTwo && i % 3 === 0 ? 'beta.two' : tenant
        const known = { acme: 'of-acme', beta: 'of-beta', 'beta.two': 'of-beta-two' }
        expected.set(key, credential && `Bearer ${known[credential as keyof typeof known]}`)
        return { targetUrl: isTwo ? two.url : one.url, json: i, idempotencyKey: key, credential }
      })
      const answer = await post('/retry-tasks/batch', { tasks }, { authorization: `Bearer ${token}` })
      expect(answer.status).toBe(200)
    }
  }
  const seen = () => [...one.seen, ...two.seen]
  await eventually(() => seen().length).toBe(COUNT)
  const got = new Map(seen().map((heard) => [String(heard['idempotency-key']), heard.authorization]))
  expect(Object.fromEntries(got)).toEqual(Object.fromEntries(expected))
  expect((await ask('/stats', { headers: { authorization: 'Bearer a' } })).status).toBe(200)
})

const api = { origins: ['https://api.test'], headers: { authorization: { from: 'env:A' } } }

test.each([
  [{ 'a/b': api }, /^credentials: expected names of 1 to 64 letters/],
  [{ api: { ...api, origins: [] } }, /^credentials\.api\.origins: expected a list of origins/],
  [{ api: { ...api, origins: ['https://api.test/'] } }, /^credentials\.api\.origins: expected exact origins/],
  [{ api: { ...api, tenants: [''] } }, /^credentials\.api\.tenants: expected a list of tenants/],
  [{ api: { ...api, headers: {} } }, /^credentials\.api\.headers: expected headers by name/],
  [{ api: { ...api, headers: { authorization: 'Bearer SECRET' } } }, /^credentials\.api\.headers\.authorization/],
  [
    { api: { ...api, headers: { authorization: { from: 'SECRET' } } } },
    /^credentials\.api\.headers\.authorization\.from: expected 'env:NAME'/,
  ],
  [{ api: { ...api, headers: { host: { from: 'env:A' } } } }, /^credentials\.api\.headers\.host: this header is made/],
  [{ api: { ...api, headers: { 'a b': { from: 'env:A' } } } }, /^credentials\.api\.headers\.a b: expected a name/],
  [{ api: { ...api, headers: { a: { from: 'env:A', prefix: 'x\n' } } } }, /^credentials\.api\.headers\.a\.prefix/],
  [{ api: { ...api, header: {} } }, /^credentials\.api\.header: no such key/],
])('%j is refused when the service is made', (credentials, message) => {
  const make = () => createService({ store: memoryStore({ everyone: true }), credentials: credentials as never })
  expect(make).toThrow(message)
  expect(make).not.toThrow('SECRET')
})
