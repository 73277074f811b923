// Limits of single targets and tenants hold over all processes.

import { describe, expect, onTestFinished, test } from 'vitest'
import { onLoopback } from '../../loopback.ts'
import { startServer } from '../../redis/servers.ts'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { folder, type Program, post, start } from './program.ts'

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

describe.each(['sqlite', 'redis'] as const)('over processes on %s', (kind) => {
  /** What a process is told of where its tasks are; by default they are in a file of its folder. */
  async function storeFlags(): Promise<readonly string[]> {
    if (kind === 'sqlite') return []
    const redis = await startServer()
    onTestFinished(() => redis.end())
    return ['--store', redis.url]
  }

  const operator = tokenFor('rd_operator', null, 'admin')
  const task = (origin: string, tenant: string) => ({
    targetUrl: `${origin}/`,
    json: 1,
    headers: { 'x-tenant': tenant },
  })
  const config = (origin: string, more: object) => ({
    'redrive.config.json': {
      tokens: [...TENANTS.map((name) => tokenFor(`rd_${name}`, name, 'tasks:read', 'tasks:write')), operator],
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
      await post(`${url}/retry-tasks`, task(origin, 'three'), as('three'))
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
    const flood = Array(200).fill(task(origin, 'acme'))
    await post(`${programs[0]?.url}/retry-tasks/batch`, { tasks: flood }, token('acme'))
    await eventually(() => seen.length).toBeGreaterThan(20)
    const before = seen.length
    await post(`${programs[1]?.url}/retry-tasks`, task(origin, 'other'), token('other'))
    await eventually(() => seen.some(({ tenant }) => tenant === 'other')).toBe(true)
    // of the flood no more went before it than was in flight, and what a turn may have taken meanwhile
    const at = seen.findIndex(({ tenant }) => tenant === 'other')
    expect(at - before).toBeLessThan(40)
    await eventually(() => seen.length).toBe(201)
  })
})
