// Limits of single targets and tenants: what they say to the store, and that they hold over all processes and partitions.

import { describe, expect, onTestFinished, test } from 'vitest'
import { limitsOf, sharesOf } from '../../../js/service/limits.ts'
import { type ApiToken, createService, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { sha256, tokenFor } from './api/setup.ts'
import { onLoopback } from './loopback.ts'
import { folder, json, type Program, post, start } from './program.ts'

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

/** A target that tells how many requests it has at most at one time, and when each came. */
async function target(holdMs = 0) {
  const seen: { tenant: string; at: number }[] = []
  let now = 0
  let most = 0
  const origin = await onLoopback((request, response) => {
    most = Math.max(most, ++now)
    seen.push({ tenant: String(request.headers['x-tenant'] ?? ''), at: performance.now() })
    request.resume().on('end', () =>
      setTimeout(() => {
        now--
        response.end()
      }, holdMs),
    )
  })
  return { origin, seen, most: () => most }
}

/** How many attempts a process has made. */
async function attemptsOf({ url }: Program): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: token('operator') })).text()
  return [...metrics.matchAll(/^retry_attempts_total\{.*\} (\d+)$/gm)].reduce((sum, [, each]) => sum + Number(each), 0)
}

/** The one that has made most attempts, which is some. */
async function busiestOf(programs: readonly Program[]): Promise<Program> {
  const made = await Promise.all(programs.map(attemptsOf))
  const most = Math.max(...made)
  expect(most).toBeGreaterThan(0)
  return programs[made.indexOf(most)] as Program
}

const TENANTS = ['acme', 'other']
const token = (name: string) => ({ authorization: `Bearer rd_${name}` })

async function service(options: Partial<ServiceOptions>) {
  const made = createService({
    store: memoryStore({ everyone: true }),
    tokens: TENANTS.map((name) => ({
      ...tokenFor(name, name, 'tasks:read', 'tasks:write'),
      sha256: sha256(`rd_${name}`),
    })),
    allowHttp: true,
    allowPrivate: ['127.0.0.0/8'],
    ...options,
  })
  onTestFinished(() => made.close({ drainMs: 0 }))
  await made.ready
  const ask = (path: string, tenant: string, body: unknown) =>
    made.fetch(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...token(tenant) },
        body: JSON.stringify(body),
      }),
    )
  return { made, ask }
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

describe.each(['sqlite', 'redis'] as const)('over processes on %s', (kind) => {
  /** What a process is told of where its tasks are; by default they are in a file of its folder. */
  async function storeFlags(): Promise<readonly string[]> {
    if (kind === 'sqlite') return []
    const redis = await startServer()
    onTestFinished(() => redis.end())
    return ['--store', redis.url]
  }

  const operator = { ...tokenFor('operator', null, 'admin'), sha256: sha256('rd_operator') }
  const config = (origin: string, more: object) => ({
    'redrive.config.json': {
      tokens: [
        ...TENANTS.map((name) => ({
          ...tokenFor(name, name, 'tasks:read', 'tasks:write'),
          sha256: sha256(`rd_${name}`),
        })),
        operator,
      ],
      targets: [origin],
      allowHttp: true,
      allowPrivate: ['127.0.0.0/8'],
      ...more,
    },
  })

  test('S7 four processes together never pass the rate of a target in any window, nor its concurrency', async () => {
    const { origin, seen, most } = await target(20)
    const [perSecond, burst, concurrency, count] = [40, 5, 3, 100]
    const cwd = folder(config(origin, { limits: { [origin]: { perSecond, burst, concurrency } } }))
    const flags = await storeFlags()
    const programs = await Promise.all([1, 2, 3, 4].map(() => start(flags, cwd)))
    const tasks = Array.from({ length: count / 2 }, () => ({ targetUrl: `${origin}/`, json: 1 }))
    for (const [i, tenant] of TENANTS.entries()) {
      expect((await post(`${programs[i]?.url}/retry-tasks/batch`, { tasks }, token(tenant))).status).toBe(200)
    }
    // left to themselves, one of them may send everything: so the busiest is told to end, again and again
    const alive = new Set(programs)
    while (alive.size > 1) {
      const sent = seen.length
      await eventually(() => seen.length).toBeGreaterThanOrEqual(sent + count / 5)
      const busiest = await busiestOf([...alive])
      alive.delete(busiest)
      busiest.child.kill('SIGTERM')
    }
    await eventually(() => seen.length).toBe(count)
    expect(await attemptsOf([...alive][0] as Program)).toBeGreaterThan(0)
    expect(most()).toBeLessThanOrEqual(concurrency)
    // a request may be late on its way, and so come closer to the next: by no more than the slack that a busy machine needs
    const slack = 3
    const times = seen.map(({ at }) => at)
    const over = times.flatMap((from, i) =>
      times.slice(i).flatMap((to, n) => {
        const allowed = burst + ((to - from) * perSecond) / 1_000 + slack
        return n + 1 > allowed ? [`${n + 1} within ${(to - from).toFixed(1)} ms, of ${allowed.toFixed(1)}`] : []
      }),
    )
    expect(over).toEqual([])
  })

  test('L4 with no option set, tenants whose targets hang leave places for another, at its own target and at theirs', async () => {
    const hanging = await Promise.all(Array.from({ length: 24 }, () => target(60_000)))
    const good = await target()
    const targets = [...hanging, good].map(({ origin }) => origin)
    const cwd = folder(config(good.origin, { targets, tokens: [operator] }))
    const { url } = await start(await storeFlags(), cwd)
    const as = (tenant: string) => ({ ...token('operator'), 'redrive-tenant': tenant })
    const flood = (part: typeof hanging) =>
      Array.from({ length: 25 * part.length }, (_, n) => ({ targetUrl: `${part[n % part.length]?.origin}/`, json: 1 }))
    const inFlight = () => hanging.reduce((sum, { seen }) => sum + seen.length, 0)
    await post(`${url}/retry-tasks/batch`, { tasks: flood(hanging.slice(0, 12)) }, as('one'))
    await eventually(inFlight).toBe(160)
    await post(`${url}/retry-tasks/batch`, { tasks: flood(hanging.slice(12)) }, as('two'))
    // of 200 one has 160, and the other four times what it leaves
    await eventually(inFlight).toBe(160 + 32)
    expect(Math.max(...hanging.map(({ seen }) => seen.length))).toBeLessThanOrEqual(16)
    for (const { origin, seen } of [good, hanging[0] as typeof good]) {
      const before = seen.length
      await post(
        `${url}/retry-tasks`,
        { targetUrl: `${origin}/`, json: 1, headers: { 'x-tenant': 'three' } },
        as('three'),
      )
      await eventually(() => seen.length).toBe(before + 1)
      expect(seen.at(-1)?.tenant).toBe('three')
    }
    expect(inFlight()).toBe(160 + 32 + 1)
  })

  test('L4 a tenant that floods keeps another from nothing: its share is full, and the other goes at once', async () => {
    const { origin, seen } = await target(50)
    const cwd = folder(config(origin, { concurrencyPerTenant: 4, concurrencyPerOrigin: 20 }))
    const flags = await storeFlags()
    const programs = await Promise.all([1, 2].map(() => start(flags, cwd)))
    const flood = Array.from({ length: 200 }, () => ({
      targetUrl: `${origin}/`,
      json: 1,
      headers: { 'x-tenant': 'acme' },
    }))
    await post(`${programs[0]?.url}/retry-tasks/batch`, { tasks: flood }, token('acme'))
    await eventually(() => seen.length).toBeGreaterThan(20)
    const before = seen.length
    await post(
      `${programs[1]?.url}/retry-tasks`,
      { targetUrl: `${origin}/`, json: 1, headers: { 'x-tenant': 'other' } },
      token('other'),
    )
    await eventually(() => seen.some(({ tenant }) => tenant === 'other')).toBe(true)
    // of the flood no more went before it than was in flight, and what a turn may have taken meanwhile
    const at = seen.findIndex(({ tenant }) => tenant === 'other')
    expect(at - before).toBeLessThan(40)
    await eventually(() => seen.length).toBe(201)
  })
})
