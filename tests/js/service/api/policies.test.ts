import { describe, expect, test } from 'vitest'
import { applyPolicies } from '../../../../js/service/api/policies.ts'
import { faultsOf, idOf, STORES, setup, tokenFor, typeOf } from './setup.ts'

const INVOICES = {
  policyId: 'invoices',
  strategy: 'exponential',
  initialDelayMs: 1_000,
  maxAttempts: 3,
  jitterType: 'FULL',
}

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
    expect([other.status, typeOf(other)]).toEqual([409, 'policy-exists'])
    const etag = created.headers.get('etag') ?? ''
    const put = await ask('PUT', '/retry-policies/invoices', {
      body: { maxAttempts: 4 },
      headers: { 'if-match': etag },
    })
    expect(put).toMatchObject({ status: 200, json: { policyId: 'invoices', maxAttempts: 4 } })
    expect(put.json.strategy).toBeUndefined()
    const stale = await ask('PUT', '/retry-policies/invoices', { body: {}, headers: { 'if-match': etag } })
    expect([stale.status, typeOf(stale)]).toEqual([412, 'changed-meanwhile'])
    expect((await ask('DELETE', '/retry-policies/invoices')).status).toBe(204)
    expect((await ask('GET', '/retry-policies/invoices')).status).toBe(404)
    expect((await ask('DELETE', '/retry-policies/invoices')).status).toBe(404)
    const gone = await ask('PUT', '/retry-policies/invoices', { body: {}, headers: { 'if-match': etag } })
    expect([gone.status, gone.json.detail]).toEqual([412, expect.stringMatching(/^'invoices' is not what it was/)])
    expect((await ask('PUT', '/retry-policies/invoices', { body: {} })).status).toBe(201)
  })

  test('of many who register at once one is the first, and equal ones are told so', async () => {
    const { ask } = await setup({ kind, sends: false })
    const body = (i: number) => ({ ...INVOICES, maxAttempts: 3 + (i % 2) })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => ask('POST', '/retry-policies', { body: body(i) })),
    )
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect([count(201), count(200), count(409)]).toEqual([1, 4, 5])
  })
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
  const refused = await ask(method, path, { body })
  expect([refused.status, typeOf(refused)]).toEqual([status, type])
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

test('policies are everyone’s: a token with the scope may write them, whatever its tenant', async () => {
  const tokens = [tokenFor('writer', 'acme', 'policies:write'), tokenFor('reader', 'other', 'tasks:read')]
  const { ask } = await setup({ sends: false, tokens })
  expect((await ask('POST', '/retry-policies', { body: INVOICES, token: 'writer' })).status).toBe(201)
  expect((await ask('GET', '/retry-policies/invoices', { token: 'reader' })).status).toBe(200)
  expect((await ask('DELETE', '/retry-policies/invoices', { token: 'reader' })).status).toBe(403)
})
