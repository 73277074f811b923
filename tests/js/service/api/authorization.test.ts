import { expect, test } from 'vitest'
import type { ApiToken, Scope } from '../../../../js/service/api/context.ts'
import { routes } from '../../../../js/service/api/routes.ts'
import { memoryBodies } from '../bodies/memory-bodies.ts'
import { type Asked, idOf, ORDERS, refusalOf, setup, tokenFor, typeOf, type World } from './setup.ts'

const SCOPES: readonly Scope[] = ['tasks:read', 'tasks:write', 'policies:write', 'metrics', 'admin']

const TOKENS: readonly ApiToken[] = [
  ...SCOPES.map((scope) => tokenFor(`acme ${scope}`.replace(' ', '-'), 'acme', scope)),
  ...SCOPES.map((scope) => tokenFor(`other-${scope}`, 'other', scope)),
  tokenFor('all', null, 'admin'),
  tokenFor('none', null, 'tasks:read', 'tasks:write'),
  { ...tokenFor('old', 'acme', 'admin'), expiresAt: 1 },
]

/** Things of the tenant acme, one for each name that a path may have. */
async function things(world: World): Promise<Readonly<Record<string, string>>> {
  const { create, dead, ask } = world
  const asked = { token: 'all', headers: { 'redrive-tenant': 'acme' } }
  const deadId = await dead({}, asked)
  const taskId = idOf(await create({ delayMs: 60_000, body: 'x' }, asked))
  await ask('POST', '/retry-policies', { body: { policyId: 'invoices' }, ...asked })
  const operation = await ask('POST', '/dead-letters/redrive', { body: { filter: { reason: 'expired' } }, ...asked })
  const pause = await ask('POST', '/pauses', { body: {}, ...asked })
  return {
    ...{ deadId, taskId, policyId: 'invoices' },
    ...{ operationId: String(operation.json.operationId), pauseId: String(pause.json.pauseId) },
  }
}

/** What is asked of each route that takes a body, so that it would be allowed to who may. */
const BODIES: Readonly<Record<string, object>> = {
  createTask: { targetUrl: ORDERS },
  createTasks: { tasks: [{ targetUrl: ORDERS }] },
  createPolicy: { policyId: 'mine' },
  putPolicy: {},
  redriveDeadLetters: { filter: { reason: 'expired' } },
  purgeDeadLetters: { filter: { reason: 'expired' }, confirm: 0 },
}

/** Those that are about a thing of one tenant. */
const OWNED = /\{(?:taskId|operationId|pauseId)\}/

test.for(routes.map((row) => [row.method, row.path, row] as const))(
  '%s %s is for whom it is for',
  async ([method, path, row]) => {
    const world = await setup({ tokens: TOKENS, bodies: memoryBodies() })
    const { deadId = '', ...ids } = await things(world)
    const named: Readonly<Record<string, string>> = path.startsWith('/dead-letters') ? { ...ids, taskId: deadId } : ids
    const real = path.replace(/\{(\w+)\}/g, (_, name) => named[name] ?? '')
    const raw = row.bytes === undefined ? {} : { raw: 'x' }
    const length = row.bytes === undefined ? {} : { 'content-length': '1' }
    const body = row.body && (BODIES[row.operationId] ?? {})
    const said = async (token?: string, headers: Asked['headers'] = {}) => {
      const asked = { body, ...raw, headers: { ...length, ...headers }, ...(token !== undefined && { token }) }
      const answer = await world.ask(method, real, asked)
      return { status: answer.status, type: answer.status < 400 ? '' : typeOf(answer), answer }
    }
    if (row.scope === null) {
      for (const token of [undefined, 'wrong']) expect((await said(token)).status).toBe(200)
      return
    }
    for (const token of [undefined, 'wrong', 'old', 'rd_'.repeat(1_000)]) {
      const { status, answer } = await said(token)
      expect([token, status]).toEqual([token, 401])
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
    for (const scope of SCOPES) {
      const may = scope === row.scope || scope === 'admin'
      if (!may) expect([scope, (await said(`acme-${scope}`)).type]).toEqual([scope, 'forbidden'])
    }
    // another tenant's is not there, whichever token asks
    if (OWNED.test(path)) {
      expect((await said(`other-${row.scope}`)).type).toBe('not-found')
      expect((await said('other-admin')).type).toBe('not-found')
      expect((await said('all', { 'redrive-tenant': 'other' })).type).toBe('not-found')
    }
    expect((await said('acme-admin', { 'redrive-tenant': 'other' })).type).toBe('forbidden')
    expect((await said('none', { 'redrive-tenant': 'acme' })).type).toBe('forbidden')
    expect((await said('all', { 'redrive-tenant': 'acme' })).type).toMatch(/^(?:|operation-running)$/)
    for (const token of [`acme-${row.scope}`, 'acme-admin', 'all']) {
      expect([token, (await said(token)).status]).not.toContain(401)
      expect([token, (await said(token)).type]).not.toContain('forbidden')
    }
  },
)

test('equal keys of two tenants are two tasks', async () => {
  const { create, ask } = await setup({ sends: false, tokens: TOKENS })
  const body = { idempotencyKey: 'invoice-2041', body: 'x' }
  const acme = await create(body, { token: 'acme-tasks:write' })
  const other = await create({ ...body, body: 'y' }, { token: 'other-tasks:write' })
  const asAcme = await create(body, { token: 'all', headers: { 'redrive-tenant': 'acme' } })
  const ofNone = await create(body, { token: 'all' })
  expect([acme, other, asAcme, ofNone].map(({ status }) => status)).toEqual([201, 201, 200, 201])
  expect(idOf(asAcme)).toBe(idOf(acme))
  const { json } = await ask('GET', '/retry-tasks', { token: 'other-tasks:read' })
  expect(json.tasks).toMatchObject([{ taskId: idOf(other), tenant: 'other' }])
  expect((await ask('GET', '/retry-tasks', { token: 'all' })).json.tasks).toHaveLength(3)
})

test('lists, counts, pauses and exports show a tenant what is its own', async () => {
  const world = await setup({ tokens: TOKENS })
  const { ask, dead, create } = world
  await dead({}, { token: 'acme-tasks:write' })
  await dead({ targetUrl: 'https://secret.test/' }, { token: 'other-tasks:write' })
  await create({ delayMs: 60_000, targetUrl: 'https://secret.test/' }, { token: 'other-tasks:write' })
  await ask('POST', '/pauses', { body: { origin: 'https://secret.test' }, token: 'other-admin' })
  await ask('POST', '/pauses', { body: {}, token: 'all' })
  for (const path of ['/retry-tasks', '/dead-letters', '/dead-letters/export', '/pauses', '/stats']) {
    const answer = await ask('GET', path, { token: 'acme-admin' })
    expect([path, answer.status, answer.text.includes('secret')]).toEqual([path, 200, false])
  }
  expect((await ask('GET', '/stats', { token: 'acme-admin' })).json.counts).toEqual({
    pending: 0,
    inFlight: 0,
    exhausted: 1,
  })
  expect((await ask('GET', '/pauses', { token: 'acme-admin' })).json.pauses).toEqual([])
  expect((await ask('GET', '/pauses', { token: 'all' })).json.pauses).toHaveLength(2)
})

test('an admin of a tenant flushes and pauses its own lanes alone', async () => {
  const { ask, create, store } = await setup({ sends: false, tokens: TOKENS })
  const waits = { delayMs: 60_000 }
  await create(waits, { token: 'acme-tasks:write' })
  const other = idOf(await create(waits, { token: 'other-tasks:write' }))
  expect((await ask('POST', '/flush', { token: 'acme-admin' })).json).toEqual({ due: 1 })
  const before = (await store.get(other))?.dueAt
  for (const path of ['/flush', '/pauses']) {
    const refused = await ask('POST', path, { body: { tenant: 'other' }, token: 'acme-admin' })
    expect([path, typeOf(refused)]).toEqual([path, 'forbidden'])
  }
  expect((await store.get(other))?.dueAt).toBe(before)
  expect((await ask('POST', '/pauses', { token: 'acme-admin' })).json).toMatchObject({ tenant: 'acme' })
})

test('an emptied list of tokens lets none in, and a new one counts at once', async () => {
  const { ask, now } = await setup({ sends: false, tokens: [] })
  expect((await ask('GET', '/stats')).status).toBe(401)
  now.tokens = [{ ...tokenFor('fresh', null, 'tasks:read'), sha256: tokenFor('fresh', null).sha256.toUpperCase() }]
  expect((await ask('GET', '/stats', { token: 'fresh' })).status).toBe(200)
  now.tokens = undefined
  expect((await ask('GET', '/stats')).status).toBe(200)
})

test.for([
  ['10.1.2.3:7733', 200],
  ['[fd00::7]:7733', 200],
  ['[::ffff:10.1.2.3]', 200],
  ['redrive.evil.test:7733', 421],
  ['10.1.2.3.evil.test', 421],
  ['[fd00::7', 421],
  ['0x0a010203', 421],
] as const)('metrics are answered by the address of a pod, and not by a strange name: %s', async ([host, status]) => {
  const { ask } = await setup({ settings: { metricsOpen: true } })
  expect((await ask('GET', '/metrics', { headers: { host } })).status).toBe(status)
  expect((await ask('GET', '/retry-tasks', { headers: { host } })).status).toBe(421)
})

test('by an address metrics are as closed as by a name', async () => {
  const { ask } = await setup({ tokens: [] })
  const headers = { host: '10.1.2.3:7733' }
  expect((await ask('GET', '/metrics', { headers })).status).toBe(401)
  const page = { ...headers, origin: 'http://evil.test' }
  expect((await ask('GET', '/metrics', { headers: page })).status).toBe(403)
})

test('metrics may be open to all', async () => {
  const { ask, now } = await setup({ sends: false, tokens: TOKENS })
  expect((await ask('GET', '/metrics')).status).toBe(401)
  now.settings = { ...now.settings, metricsOpen: true }
  expect(await ask('GET', '/metrics')).toMatchObject({ status: 200, text: '# HELP redrive_up it is\n' })
})

test('the log has names and numbers, and nothing that a request has said', async () => {
  const { ask, create, log } = await setup({ sends: false, tokens: TOKENS })
  await create(
    { body: 'secret-body', targetUrl: `${ORDERS}?q=secret-query` },
    { token: 'acme-tasks:write', headers: { 'x-secret': 'secret-header' } },
  )
  await ask('GET', '/retry-tasks?origin=secret-value', { token: 'acme-tasks:read' })
  await ask('GET', '/nowhere/secret-path', { token: 'secret-token' })
  expect(log).toMatchObject([
    {
      event: 'request',
      method: 'POST',
      route: '/retry-tasks',
      status: 201,
      tenant: 'acme',
      token: 'the token acme-tasks:write',
    },
    { event: 'request', route: '/retry-tasks', status: 400, problem: 'bad-request' },
    { event: 'request', route: '', status: 404, problem: 'not-found' },
  ])
  expect(JSON.stringify(log)).not.toContain('secret')
})

test('S17 no tenant goes before others by its priority, and each may put its own in order', async () => {
  const post = async (
    token: string | undefined,
    priority: number,
    options: { tokens?: readonly ApiToken[] } = { tokens: TOKENS },
  ) => {
    const { create } = await setup(options)
    return create({ priority, delayMs: 60_000 }, token === undefined ? {} : { token })
  }
  const answer = await post('acme-tasks:write', 1)
  expect(refusalOf(answer)).toEqual([403, 'forbidden'])
  expect(answer.json.detail).toBe(
    'priority: above 0 the task would go before those of all tenants, and that takes the scope admin; use numbers below 0 for what may wait',
  )
  expect((await post('acme-tasks:write', 0)).status).toBe(201)
  expect((await post('acme-tasks:write', -5)).status).toBe(201)
  expect((await post('acme-admin', 1)).status).toBe(201)
  expect((await post('all', 1)).status).toBe(201)
  // where there is no other tenant, or no token
  const alone = [tokenFor('one', 'acme', 'tasks:write')]
  expect((await post('one', 1, { tokens: alone })).status).toBe(201)
  expect((await post(undefined, 1, {})).status).toBe(201)
})

test('a listener whose token sees less by now, or is of another tenant, is closed', async () => {
  for (const changed of [tokenFor('a', 'acme', 'tasks:read'), tokenFor('a', null, 'tasks:read')]) {
    const { api, now, clock } = await setup({ tokens: [tokenFor('a', null, 'admin')] })
    const headers = { host: 'localhost', authorization: 'Bearer a' }
    const answer = await api.fetch(new Request('http://localhost/events', { headers }))
    now.tokens = [changed]
    await clock.advance(15_000)
    expect(await answer.text()).toMatch(/event: closed\ndata: \{"reason":"unauthorized"/)
  }
})
