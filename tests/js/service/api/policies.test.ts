import { describe, expect, test } from 'vitest'
import { applyPolicies, Policies } from '../../../../js/service/api/policies.ts'
import { faultsOf, idOf, refusalOf, STORES, setup, tokenFor, typeOf } from './setup.ts'

const CURVE = { strategy: 'exponential', initialDelayMs: 1_000, maxAttempts: 3, jitterType: 'FULL' }
const INVOICES = { policyId: 'invoices', ...CURVE }

describe.for(STORES)('%s', (kind) => {
  test('a policy is registered once, shown with its schedule, replaced and deleted', async () => {
    const { ask } = await setup({ kind, sends: false })
    const created = await ask('POST', '/retry-policies', { body: INVOICES })
    expect(created).toMatchObject({ status: 201, json: { ...INVOICES, source: 'api' } })
    expect(created.headers.get('location')).toBe('/retry-policies/invoices')
    expect(created.json.schedule).toEqual([
      { retry: 1, minMs: 0, meanMs: 500, maxMs: 999, totalMeanMs: 500, totalMaxMs: 999 },
      { retry: 2, minMs: 0, meanMs: 1_000, maxMs: 1_999, totalMeanMs: 1_500, totalMaxMs: 2_998 },
    ])
    const again = await ask('POST', '/retry-policies', { body: { ...INVOICES } })
    expect([again.status, again.headers.get('etag')]).toEqual([200, created.headers.get('etag')])
    const other = await ask('POST', '/retry-policies', { body: { ...INVOICES, maxAttempts: 4 } })
    expect(refusalOf(other)).toEqual([409, 'policy-exists'])
    const etag = created.headers.get('etag') ?? ''
    const headers = { 'if-match': etag }
    const put = await ask('PUT', '/retry-policies/invoices', { body: { maxAttempts: 4 }, headers })
    expect(put).toMatchObject({ status: 200, json: { policyId: 'invoices', maxAttempts: 4 } })
    expect(put.json.strategy).toBeUndefined()
    const stale = await ask('PUT', '/retry-policies/invoices', { body: {}, headers })
    expect(refusalOf(stale)).toEqual([412, 'changed-meanwhile'])
    expect((await ask('DELETE', '/retry-policies/invoices', { headers })).status).toBe(412)
    expect((await ask('DELETE', '/retry-policies/invoices')).status).toBe(204)
    expect((await ask('GET', '/retry-policies/invoices')).status).toBe(404)
    expect((await ask('DELETE', '/retry-policies/invoices')).status).toBe(404)
    const gone = await ask('PUT', '/retry-policies/invoices', { body: {}, headers })
    expect([gone.status, gone.json.detail]).toEqual([412, expect.stringMatching(/^'invoices' is not what it was/)])
    expect((await ask('PUT', '/retry-policies/invoices', { body: {} })).status).toBe(201)
  })

  test('of many who register at once one is the first, and equal ones are told so', async () => {
    const { ask } = await setup({ kind, sends: false })
    const body = (i: number) => ({ ...INVOICES, maxAttempts: 3 + (i % 2) })
    const bodies = Array.from({ length: 10 }, (_, i) => body(i))
    const answers = await Promise.all(bodies.map((body) => ask('POST', '/retry-policies', { body })))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(201), count(200), count(409)]).toEqual([1, 4, 5])
  })
})

test.each(['.', '..', 'a/b', '', '-', 'a'.repeat(65)])('an id that no path names is refused: %j', async (policyId) => {
  const { ask, store } = await setup({ sends: false })
  const refused = await ask('POST', '/retry-policies', { body: { ...INVOICES, policyId } })
  expect([refused.status, typeOf(refused)]).toEqual([422, 'invalid'])
  await expect(applyPolicies(store.registry, [{ policyId }])).rejects.toThrow('expected a policyId of 1 to 64')
})

test('conditions of a PUT hold', async () => {
  const { ask } = await setup({ sends: false })
  const put = (headers: Record<string, string>) =>
    ask('PUT', '/retry-policies/invoices', { body: { maxAttempts: 2 }, headers })
  expect((await put({ 'if-match': '"1"' })).status).toBe(412)
  expect((await put({ 'if-match': '*' })).status).toBe(412)
  expect((await put({ 'if-none-match': '*' })).status).toBe(201)
  expect((await put({ 'if-none-match': '*' })).status).toBe(412)
  expect((await put({ 'if-match': '*' })).status).toBe(200)
})

test('a policy that another process registers can be used at once, a changed one within a second', async () => {
  const { create, store, clock } = await setup({ sends: false })
  const policyOf = async () => (await store.get(idOf(await create({ policyId: 'invoices' }))))?.policy.maxAttempts
  expect(typeOf(await create({ policyId: 'invoices' }))).toBe('policy-unknown')
  await store.registry.write('policy/invoices', INVOICES)
  expect(await policyOf()).toBe(3)
  await store.registry.write('policy/invoices', { ...INVOICES, maxAttempts: 7 })
  expect(await policyOf()).toBe(3)
  await clock.advance(1_000)
  expect(await policyOf()).toBe(7)
})

test('of a media type at most 255 characters are taken, in a policy and in that of a task', async () => {
  const { ask, create } = await setup({ sends: false })
  const policy = (length: number) => ({ expect: { contentType: `a/${'b'.repeat(length - 2)}` } })
  const put = (length: number) => ask('PUT', '/retry-policies/x', { body: policy(length) })
  expect([(await put(255)).status, (await create({ policy: policy(255) })).status]).toEqual([201, 201])
  expect(faultsOf(await put(256))[0]).toMatch(/^#\/expect\/contentType: .*255/)
  expect(faultsOf(await create({ policy: policy(256) }))[0]).toMatch(/^#\/policy\/expect\/contentType: .*255/)
})

test.for(['POST', 'PUT'])('a policy of more than 16 KiB of JSON is not registered by %s', async (method) => {
  const { ask } = await setup({ sends: false })
  const register = (delays: number) => {
    const body = { policyId: 'x', strategy: 'table', delaysMs: Array(delays).fill(8_640_000_000_000_000) }
    return ask(method, method === 'POST' ? '/retry-policies' : '/retry-policies/x', { body })
  }
  const refused = await register(1_000)
  expect([refused.status, refused.json.detail]).toEqual([422, expect.stringMatching(/ 16384 .*: leave out/)])
  expect((await register(900)).status).toBe(201)
})

test('a policy is checked once: the service does not check it again when another is registered', async () => {
  const { store, clock, now } = await setup({ sends: false })
  const policies = new Policies(store.registry, clock, () => now.settings)
  const givenOf = async () => (await policies.get('invoices', 'ann', true))?.given
  await policies.write(INVOICES as typeof now.settings.defaultPolicy, 'ann')
  const before = await givenOf()
  await policies.write({ policyId: 'other' }, 'bob')
  expect(await givenOf()).toBe(before)
  await policies.write({ ...INVOICES, maxAttempts: 9 } as typeof now.settings.defaultPolicy, 'ann')
  expect((await givenOf())?.maxAttempts).toBe(9)
})

test('an entry that no policy can be read from is none', async () => {
  const { ask, store, create } = await setup({ sends: false })
  await store.registry.write('policy/damaged', { policyId: 'damaged', maxAttempts: -1 })
  await store.registry.write('policy/text', 'x')
  await store.registry.write('policy/other', { policyId: 'another' })
  for (const policyId of ['damaged', 'text', 'other']) expect(typeOf(await create({ policyId }))).toBe('policy-unknown')
  const { json } = await ask('GET', '/retry-policies')
  expect(json.policies).toHaveLength(8)
})

test.for([
  ['POST', '/retry-policies', { policyId: 'svix', maxAttempts: 2 }, 409, 'policy-exists'],
  ['POST', '/retry-policies', { policyId: 'default' }, 409, 'policy-exists'],
  ['PUT', '/retry-policies/svix', {}, 409, 'policy-exists'],
  ['PUT', '/retry-policies/default', {}, 409, 'policy-exists'],
  ['DELETE', '/retry-policies/svix', undefined, 409, 'policy-default'],
  ['DELETE', '/retry-policies/default', undefined, 409, 'policy-default'],
  ['POST', '/retry-policies', { maxAttempts: 2 }, 422, 'invalid'],
  ['POST', '/retry-policies', { policyId: 'a b' }, 422, 'invalid'],
  ['POST', '/retry-policies', { policyId: 'x', totalBudgetMs: 2, keyTtlMs: 1 }, 422, 'invalid'],
  ['PUT', '/retry-policies/x', { policyId: 'y' }, 422, 'invalid'],
  ['GET', '/retry-policies/nowhere', undefined, 404, 'not-found'],
  ['GET', '/retry-policies/a%20b', undefined, 404, 'not-found'],
] as const)('%s %s with %j is refused', async ([method, path, body, status, type]) => {
  const { ask } = await setup({ sends: false })
  expect(refusalOf(await ask(method, path, { body }))).toEqual([status, type])
})

test('the operator’s file wins, and locked policies are read only', async () => {
  const { ask, store, now, create } = await setup({ sends: false })
  await store.registry.write('policy/invoices', { ...INVOICES, maxAttempts: 99 })
  await applyPolicies(store.registry, [{ policyId: 'invoices', maxAttempts: 6 }])
  now.settings = { ...now.settings, filePolicies: new Set(['invoices']) }
  expect((await ask('GET', '/retry-policies/invoices')).json).toMatchObject({ maxAttempts: 6, source: 'file' })
  for (const method of ['PUT', 'DELETE']) {
    const body = method === 'PUT' ? {} : undefined
    expect((await ask(method, '/retry-policies/invoices', { body })).status).toBe(403)
  }
  now.settings = { ...now.settings, policiesLocked: true }
  expect((await ask('POST', '/retry-policies', { body: INVOICES })).status).toBe(403)
  expect((await ask('POST', '/retry-policies', { body: { policyId: 'invoices', maxAttempts: 6 } })).status).toBe(200)
  expect((await create({ policyId: 'invoices' })).status).toBe(201)
  await expect(applyPolicies(store.registry, [{ policyId: 'svix' }])).rejects.toThrow('svix')
})

test('the default policy is what the settings say, under its name', async () => {
  const { ask, create, store, now } = await setup({ sends: false })
  const policyOf = async () => (await store.get(idOf(await create())))?.policy
  expect(await policyOf()).toMatchObject({ policyId: 'default', initialDelayMs: 1_000 })
  now.settings = { ...now.settings, defaultPolicy: INVOICES as typeof now.settings.defaultPolicy }
  expect(await policyOf()).toMatchObject(INVOICES)
  expect((await ask('GET', '/retry-policies/default')).json).toMatchObject({ policyId: 'invoices', source: 'default' })
  await ask('POST', '/retry-policies', { body: INVOICES })
  expect(typeOf(await ask('DELETE', '/retry-policies/invoices'))).toBe('policy-default')
})

test('a plan has the numbers of the package, and an end where there is one', async () => {
  const { ask, context } = await setup({ sends: false })
  const zizq = { strategy: 'polynomial', baseMs: 15_000, exponent: 4, jitterMs: 30_000, maxAttempts: 26 } as const
  const { json } = await ask('POST', '/plan', { body: zizq })
  const rows = context.core.backoffSchedule(zizq)
  expect(json.schedule).toEqual(rows.map(({ attempt, ...row }) => ({ retry: attempt, ...row })))
  expect(json.longestMs).toBe(rows.at(-1)?.totalMaxMs)
  const endless = await ask('POST', '/plan')
  expect(endless.json.schedule).toHaveLength(1_000)
  expect(endless.json.longestMs).toBeNull()
  expect((await ask('POST', '/plan', { body: { maxAttempts: 1 } })).json).toEqual({ schedule: [], longestMs: 0 })
  expect(faultsOf(await ask('POST', '/plan', { body: { maxAttempts: 'many' } }))[0]).toMatch(/^#\/maxAttempts: /)
})

describe('a policy belongs to a tenant', () => {
  const writers = { ann: 'ann', bob: 'bob', nobody: null }
  const tokens = [
    ...Object.entries(writers).map(([name, of]) => tokenFor(name, of, 'tasks:write', 'tasks:read', 'policies:write')),
    tokenFor('reader', 'bob', 'tasks:read'),
    tokenFor('root', null, 'admin'),
  ]
  const put = (token: string, maxAttempts: number) => ({ token, body: { ...INVOICES, maxAttempts } })
  const maxOf = (policies: unknown) =>
    (policies as { policyId: string; maxAttempts: number; source: string }[])
      .filter(({ policyId }) => policyId === 'invoices')
      .map(({ maxAttempts, source }) => [maxAttempts, source])

  test.for(STORES)('each tenant has its own by one name, and changes and deletes no other: %s', async (kind) => {
    const { ask, create, store } = await setup({ kind, tokens, sends: false })
    const attemptsOf = async (token: string) =>
      (await store.get(idOf(await create({ policyId: 'invoices' }, { token }))))?.policy.maxAttempts
    expect((await ask('POST', '/retry-policies', put('ann', 3))).status).toBe(201)
    expect(typeOf(await create({ policyId: 'invoices' }, { token: 'bob' }))).toBe('policy-unknown')
    for (const method of ['GET', 'DELETE'])
      expect((await ask(method, '/retry-policies/invoices', { token: 'bob' })).status).toBe(404)
    expect((await ask('POST', '/retry-policies', put('bob', 1))).status).toBe(201)
    expect((await ask('PUT', '/retry-policies/invoices', put('bob', 2))).status).toBe(200)
    expect([await attemptsOf('ann'), await attemptsOf('bob')]).toEqual([3, 2])
    expect((await ask('DELETE', '/retry-policies/invoices', { token: 'reader' })).status).toBe(403)
    expect((await ask('DELETE', '/retry-policies/invoices', { token: 'bob' })).status).toBe(204)
    const { policies } = (await ask('GET', '/retry-policies', { token: 'bob' })).json
    expect([await attemptsOf('ann'), maxOf(policies)]).toEqual([3, []])
  })

  test('one without a tenant is for all that have none of their own, and takes an admin where there are several', async () => {
    const { ask } = await setup({ tokens, sends: false })
    const shown = async (token: string) => maxOf((await ask('GET', '/retry-policies', { token })).json.policies)
    expect(typeOf(await ask('POST', '/retry-policies', put('nobody', 1)))).toBe('forbidden')
    expect((await ask('POST', '/retry-policies', put('root', 5))).status).toBe(201)
    expect([await shown('ann'), await shown('root')]).toEqual([[[5, 'operator']], [[5, 'api']]])
    for (const method of ['PUT', 'DELETE']) {
      const asked = method === 'PUT' ? put('nobody', 1) : { token: 'nobody' }
      expect(typeOf(await ask(method, '/retry-policies/invoices', asked))).toBe('forbidden')
    }
    expect(typeOf(await ask('DELETE', '/retry-policies/invoices', { token: 'ann' }))).toBe('forbidden')
    // the same as the operator's is the tenant's own all the same, which the operator changes no more
    expect((await ask('POST', '/retry-policies', put('ann', 5))).status).toBe(201)
    expect((await ask('PUT', '/retry-policies/invoices', put('root', 6))).status).toBe(200)
    expect([await shown('ann'), await shown('bob')]).toEqual([[[5, 'api']], [[6, 'operator']]])
    expect((await ask('DELETE', '/retry-policies/invoices', { token: 'ann' })).status).toBe(204)
    expect(await shown('ann')).toEqual([[6, 'operator']])
  })

  test('an admin who names a tenant acts for it alone', async () => {
    const { ask } = await setup({ tokens, sends: false })
    const asAnn = { ...put('root', 4), headers: { 'redrive-tenant': 'ann' } }
    expect((await ask('POST', '/retry-policies', asAnn)).status).toBe(201)
    expect((await ask('GET', '/retry-policies/invoices', { token: 'ann' })).status).toBe(200)
    for (const token of ['root', 'bob'])
      expect((await ask('GET', '/retry-policies/invoices', { token })).status).toBe(404)
  })

  test('what the operator’s file has is for all and read-only, also where a tenant had one by its name', async () => {
    const { ask, store, now } = await setup({ tokens, sends: false })
    expect((await ask('POST', '/retry-policies', put('ann', 2))).status).toBe(201)
    await applyPolicies(store.registry, [{ policyId: 'invoices', maxAttempts: 7 }])
    now.settings = { ...now.settings, filePolicies: new Set(['invoices']) }
    for (const token of ['ann', 'bob', 'root']) {
      const { json } = await ask('GET', '/retry-policies/invoices', { token })
      expect([json.maxAttempts, json.source]).toEqual([7, 'file'])
      expect(typeOf(await ask('PUT', '/retry-policies/invoices', put(token, 1)))).toBe('forbidden')
      expect(typeOf(await ask('DELETE', '/retry-policies/invoices', { token }))).toBe('forbidden')
    }
  })

  test.for(['POST', 'PUT'])(
    'a tenant has 100 at most, also of those that come at once by %s, and others have room',
    async (method) => {
      const { ask } = await setup({ tokens, sends: false })
      const register = (n: number, token = 'ann') => {
        const path = method === 'POST' ? '/retry-policies' : `/retry-policies/p${n}`
        return ask(method, path, { token, body: { ...INVOICES, policyId: `p${n}` } })
      }
      const answers = await Promise.all(Array.from({ length: 110 }, (_, n) => register(n)))
      expect(answers.filter(({ status }) => status === 201).length).toBe(100)
      expect(typeOf(await register(200))).toBe('policies-full')
      expect((await register(200, 'bob')).status).toBe(201)
      const [kept] = answers.flatMap(({ status }, n) => (status === 201 ? [n] : []))
      // one that is there may be replaced, and one that is deleted makes room
      const replaced = await ask('PUT', `/retry-policies/p${kept}`, { token: 'ann', body: { maxAttempts: 2 } })
      expect(replaced.status).toBe(200)
      expect((await ask('DELETE', `/retry-policies/p${kept}`, { token: 'ann' })).status).toBe(204)
      expect((await register(200)).status).toBe(201)
    },
  )
})
