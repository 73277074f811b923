// Limits of single targets and tenants: what they say to the store, and that they hold over all processes and partitions.

import { describe, expect, test } from 'vitest'
import { limitsOf, sharesOf } from '../../../js/service/limits.ts'
import { type ApiToken, createService, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { tokenFor } from './api/setup.ts'
import { json } from './program.ts'
import { setup } from './service-setup.ts'

describe('limits in the store’s words', () => {
  test('a target is the limit of all tenants unless it says otherwise', () => {
    expect(
      limitsOf({
        'https://api.example.com': { concurrency: 5, perSecond: 0.5, burst: 3 },
        'https://*.example.com': { perSecond: 10, sharedBy: 'tenant' },
      }),
    ).toEqual([
      { origins: 'https://api.example.com', concurrency: 5, perSecond: 0.5, burst: 3, sharedBy: 'origin' },
      { origins: 'https://*.example.com', perSecond: 10, sharedBy: 'lane' },
    ])
  })

  test.each<[string, object, string]>([
    ['https://a.test', {}, "limits['https://a.test']: expected concurrency, perSecond, or both"],
    ['https://a.test', { burst: 2, concurrency: 1 }, 'burst: perSecond is missing'],
    ['https://a.test', { concurrency: 0 }, 'concurrency'],
    ['https://a.test', { perSecond: 0 }, 'perSecond'],
    ['https://a.test', { perSecond: 1, sharedBy: 'lane' }, 'sharedBy'],
    ['https://a.test', { rate: '10/s' }, 'rate'],
    ['https://a.test/path', { perSecond: 1 }, 'an exact origin'],
    ['a.test', { perSecond: 1 }, 'an exact origin'],
  ])('%s: %j is refused, and told why', (origins, limit, why) => {
    expect(() => limitsOf({ [origins]: limit })).toThrow(why)
  })

  test('what may lie in several partitions is divided among them, and what lies in one is not', () => {
    const options = {
      limits: {
        'https://a.test': { concurrency: 5, perSecond: 10, burst: 4 },
        'https://b.test': { concurrency: 5, perSecond: 10, burst: 4, sharedBy: 'tenant' as const },
      },
      concurrencyPerTenant: 10,
      tokens: [tokenFor('a', 'acme', 'tasks:write')],
      tenantCapacity: 100,
      tenants: { acme: { capacity: 7, capacityBytes: 1_000 } },
    }
    const [shared, own] = [
      { origins: 'https://a.test', concurrency: 2, perSecond: 5, burst: 2, sharedBy: 'origin' },
      { origins: 'https://b.test', concurrency: 5, perSecond: 10, burst: 4, sharedBy: 'lane' },
    ]
    const byTenant = sharesOf(options, 2, 'tenant')
    expect(byTenant.claim).toEqual({ limits: [shared, own], perPrincipal: 10 })
    expect([byTenant.quotaOf?.('acme'), byTenant.quotaOf?.('other'), byTenant.quotaOf?.(null)]).toEqual([
      { capacity: 7, capacityBytes: 1_000 },
      { capacity: 100 },
      { capacity: 100 },
    ])
    const byLane = sharesOf(options, 2, 'lane')
    expect(byLane.claim).toEqual({ limits: [shared, own], perPrincipal: 5 })
    expect(byLane.quotaOf?.('acme')).toEqual({ capacity: 4, capacityBytes: 500 })
    expect(sharesOf(options, 2, 'policy').claim.limits).toEqual([
      shared,
      { ...shared, origins: 'https://b.test', sharedBy: 'lane' },
    ])
    expect(sharesOf({ tokens: [] }, 2, 'tenant')).toEqual({ claim: {}, quotaOf: undefined })
  })

  test.each<[string, readonly ApiToken[] | undefined, boolean]>([
    ['tokens of two tenants', [tokenFor('a', 'acme'), tokenFor('b', 'other')], true],
    ['a token of a tenant and one of none', [tokenFor('a', 'acme'), tokenFor('b', null, 'tasks:write')], true],
    ['an admin token that may name any tenant', [tokenFor('a', null, 'admin')], true],
    ['no tokens, so that each caller may name one', undefined, true],
    ['two tokens of one tenant', [tokenFor('a', 'acme'), tokenFor('b', 'acme', 'admin')], false],
    ['one token that can name no tenant', [tokenFor('a', null, 'tasks:write')], false],
  ])('places are left for others where there may be others: %s', (_, tokens, isShared) => {
    expect(sharesOf({ tokens }, 1, 'tenant').claim).toEqual(isShared ? { perFree: 4 } : {})
  })

  test.each([2, 3, 4, 7, 64])('%i partitions together never have more in flight than the limit', (partitions) => {
    for (const concurrency of [64, 65, 100, 127]) {
      const limits = { 'https://a.test': { concurrency } }
      const { claim } = sharesOf({ limits, concurrencyPerTenant: concurrency }, partitions, 'lane')
      for (const part of [claim.limits?.[0]?.concurrency ?? 0, claim.perPrincipal ?? 0]) {
        expect(part * partitions).toBeLessThanOrEqual(concurrency)
        expect(part).toBeGreaterThanOrEqual(1)
      }
    }
  })

  test('a limit of which partitions would have no share is refused', () => {
    const limits = { 'https://a.test': { concurrency: 3 } }
    expect(() => sharesOf({ limits }, 4, 'tenant')).toThrow(
      "limits['https://a.test'].concurrency: expected 4 or more, as each of 4 partitions has its share, got 3",
    )
    expect(sharesOf({ limits }, 3, 'tenant').claim.limits?.[0]?.concurrency).toBe(1)
    expect(() => sharesOf({ concurrencyPerTenant: 3 }, 4, 'lane')).toThrow('concurrencyPerTenant: expected 4 or more')
    expect(sharesOf({ concurrencyPerTenant: 3 }, 4, 'tenant').claim.perPrincipal).toBe(3)
  })

  test.each<[string, Partial<ServiceOptions>]>([
    ['concurrencyPerTenant', { concurrencyPerTenant: 0 }],
    ['tenantCapacity', { tenantCapacity: 1.5 }],
    ['tenants.acme', { tenants: { acme: { capacity: 0 } } }],
    ['tenants', { tenants: { '': {} } }],
    ['targets', { tenants: { acme: { targets: ['nowhere'] } } }],
  ])('createService names the option %s', (name, options) => {
    expect(() => createService({ store: memoryStore({ everyone: true }), ...options })).toThrow(name)
  })
})

const TENANTS = ['acme', 'other']
const token = (name: string) => ({ authorization: `Bearer rd_${name}` })

async function service(options: Partial<ServiceOptions>) {
  const tokens = TENANTS.map((name) => tokenFor(`rd_${name}`, name, 'tasks:read', 'tasks:write'))
  const { service: made, post } = await setup({ tokens, allowLoopback: false, ...options })
  return { made, ask: (path: string, tenant: string, body: unknown) => post(path, body, token(tenant)) }
}

test('S17 a tenant over its quota gets 429 and a time to come back, and others are not touched', async () => {
  const { ask } = await service({ tenants: { acme: { capacity: 2 } }, targets: ['https://api.example.com'] })
  const task = { targetUrl: 'https://api.example.com/', json: 1, delayMs: 60_000 }
  expect((await ask('/retry-tasks', 'acme', task)).status).toBe(201)
  expect((await ask('/retry-tasks', 'acme', task)).status).toBe(201)
  const refused = await ask('/retry-tasks', 'acme', task)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  expect(await json(refused)).toMatchObject({
    type: 'urn:redrive:problem:quota-exceeded',
    detail: 'this tenant has no more room, and 2 tasks are held, dead letters included; nothing was stored',
  })
  expect((await ask('/retry-tasks', 'other', task)).status).toBe(201)
  const batch = await json(await ask('/retry-tasks/batch', 'acme', { tasks: [task] }))
  expect(batch.outcomes).toMatchObject([{ status: 429 }])
})

test('a tenant sends to its own targets among those of the service', async () => {
  const { ask, made } = await service({
    targets: ['https://*.example.com'],
    tenants: { acme: { targets: ['https://a.example.com', 'https://elsewhere.test'] } },
  })
  const to = async (tenant: string, host: string) =>
    (await ask('/retry-tasks', tenant, { targetUrl: `https://${host}/`, json: 1, delayMs: 60_000 })).status
  expect([await to('acme', 'a.example.com'), await to('acme', 'b.example.com')]).toEqual([201, 422])
  expect([await to('acme', 'elsewhere.test'), await to('other', 'b.example.com')]).toEqual([422, 201])
  await made.reload({ tokens: [tokenFor('x', 'acme', 'tasks:write')], targets: ['https://*.example.com'] })
})
