// The files and commands of docs/service-limits.md are used as they stand, against a target on this machine, and what the page says of a limit
// is tried.
import { expect, test } from 'vitest'
import { checkTenants, limitsOf } from '../../../js/service/limits.ts'
import { limitFor, limitsIn } from '../../../js/stores/engine/limits.ts'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { pageOf } from './doc-blocks.ts'
import { target } from './loopback.ts'
import { folder, json, post, start } from './program.ts'

const { block, rest } = pageOf('service-limits.md')
const limits = block('json', '"perSecond"')
const tenants = block('json', '"capacity"')
const TOKENS = { acme: 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa', big: 'rd_bbbbbbbbbbbbbbbbbbbbbbbbbb' } as const
const bearer = (tenant: keyof typeof TOKENS) => ({ authorization: `Bearer ${TOKENS[tenant]}` })
const tokens = Object.entries(TOKENS).map(([tenant, token]) => tokenFor(token, tenant, 'tasks:read', 'tasks:write'))

interface Outcomes {
  readonly outcomes: readonly { readonly status: number }[]
}

test('the limits of the page are sound, and the most exact that fits holds', () => {
  const given = JSON.parse(limits)
  const read = limitsIn(limitsOf(given))
  expect(limitFor(read, 'https://api.example.com')).toMatchObject({ concurrency: 4, isShared: true })
  expect(limitFor(read, 'https://one.shops.example.com')).toMatchObject({ isShared: false })
  expect(limitFor(read, 'https://shops.example.com')).toBeUndefined()
  expect(limitFor(read, 'https://one.shops.example.com:8443')).toBeUndefined()
  expect(limitFor(read, 'https://other.example.com')).toBeUndefined()
  expect(() => checkTenants(JSON.parse(tenants))).not.toThrow()
})

test('the tenants of the page: the next task is refused; one that fits, and one that is known, are not', async () => {
  const cwd = folder({ 'tokens.json': tokens, 'limits.json': limits, 'tenants.json': tenants })
  const words = block('sh', '@redrive/service serve').replaceAll(/[\\']/g, '').trim().split(/\s+/)
  const program = await start(words.slice(3), cwd)
  const url = `${program.url}/retry-tasks`
  const { acme } = JSON.parse(tenants)
  const task = { targetUrl: 'https://api.example.com/orders', json: { sku: 1 }, delayMs: 60_000 }
  const batch = async (count: number): Promise<Outcomes> => {
    const answer = await post(`${url}/batch`, { tasks: Array.from({ length: count }, () => task) }, bearer('acme'))
    return (await answer.json()) as Outcomes
  }
  const known = { ...task, idempotencyKey: 'known' }
  expect((await post(url, known, bearer('acme'))).status).toBe(201)
  for (let left = acme.capacity - 1; left > 1; left -= 500) {
    const { outcomes } = await batch(Math.min(500, left - 1))
    expect(outcomes.every(({ status }) => status === 201)).toBe(true)
  }
  // one place is left
  expect((await batch(3)).outcomes.map(({ status }) => status)).toEqual([201, 429, 429])

  const refused = await post(url, task, bearer('acme'))
  expect([refused.status, (await json(refused)).type]).toEqual([429, 'urn:redrive:problem:quota-exceeded'])
  expect((await post(url, task, bearer('acme'))).headers.get('retry-after')).toBe('5')
  expect((await post(url, known, bearer('acme'))).status).toBe(200)
  expect((await post(url, task, bearer('big'))).status).toBe(201)
  const elsewhere = { ...task, targetUrl: 'https://other.example.com/' }
  expect([
    (await post(url, elsewhere, bearer('acme'))).status,
    (await post(url, elsewhere, bearer('big'))).status,
  ]).toEqual([422, 201])
  const stats = await json(await fetch(`${program.url}/stats`, { headers: bearer('acme') }))
  expect(stats.counts).toMatchObject({ pending: acme.capacity })
})

test('of a rate that two tenants share each has half, however much one of them has waiting', async () => {
  const { origin, seen: heard } = await target()
  const seen = () => heard.map((each) => String(each['x-tenant']))
  const settings = { tokens, targets: [origin], allowHttp: true, allowPrivate: ['127.0.0.0/8'] }
  const cwd = folder({ 'redrive.config.json': { ...settings, limits: { [origin]: { perSecond: 50 } } } })
  const { url } = await start([], cwd)
  const give = (tenant: keyof typeof TOKENS, count: number) => {
    const task = { targetUrl: `${origin}/`, json: 1, headers: { 'x-tenant': tenant } }
    return post(`${url}/retry-tasks/batch`, { tasks: Array.from({ length: count }, () => task) }, bearer(tenant))
  }
  await give('acme', 200)
  await eventually(() => seen().length).toBeGreaterThan(5)
  await give('big', 20)
  await eventually(() => seen().filter((tenant) => tenant === 'big').length).toBe(20)
  const meanwhile = seen()
    .slice(seen().indexOf('big'))
    .filter((tenant) => tenant === 'acme').length
  expect(meanwhile).toBeGreaterThanOrEqual(15)
  expect(meanwhile).toBeLessThanOrEqual(25)
})

test('there is no block that no test has run', () => {
  expect(rest()).toEqual([])
})
