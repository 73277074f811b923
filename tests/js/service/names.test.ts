/** Names of targets: asked of real name servers, kept as their records say, and shared out among tenants. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NameServers, openNames } from '../../../js/service/name-servers.ts'
import { type Lookup, Names } from '../../../js/service/names.ts'
import { fakeClock } from '../../../js/testing.ts'
import { eventually } from '../eventually.ts'
import { watch } from '../setup.ts'
import { target } from './loopback.ts'
import { NXDOMAIN, nameServer, type Said, SERVFAIL } from './name-server.ts'
import { folder } from './program.ts'
import { setup as serviceOver } from './service-setup.ts'

const NAME = 'api.example.com'
const V4 = { addresses: ['93.184.215.14'] }

/** Names of one server on virtual time; `of` waits two seconds, for tenant 'a'. */
async function setup(says: Readonly<Record<string, Said>>) {
  const clock = fakeClock()
  const server = await nameServer(says)
  const { names, close } = openNames({ dnsServers: [server.address], clock })
  onTestFinished(close)
  const of = (name = NAME, tenant: string | null = 'a') => names.addressesOf(name, { tenant, withinMs: 2_000 })
  return { clock, server, names, close, of }
}

/** Names that `find` finds, on virtual time; `of` is for the tenant that it names, or for none. */
function found(find: Lookup) {
  const clock = fakeClock()
  const names = new Names({ clock, find })
  return {
    clock,
    of: (name = NAME, tenant: string | null = null) => names.addressesOf(name, { tenant, withinMs: 2_000 }),
  }
}

describe('a name is kept', () => {
  test.each([
    [0, 0],
    [1, 1_000],
    [30, 30_000],
    [60, 60_000],
    [4_294_967_295, 60_000],
  ])('with a TTL of %i s for %i ms, and asked for again after that', async (ttl, keptMs) => {
    const { clock, server, of } = await setup({ [NAME]: { ...V4, ttl } })
    expect(await of()).toEqual(V4.addresses)
    const { asked } = server
    if (keptMs > 0) {
      await clock.advance(keptMs - 1)
      await of()
      expect(asked()).toBe(2)
      await clock.advance(1)
    }
    server.say(NAME, { addresses: ['8.8.8.8'], ttl })
    expect(await of()).toEqual(['8.8.8.8'])
    expect(asked()).toBe(4)
  })

  test('for as long as the shortest of its records says', async () => {
    let asked = 0
    const { clock, of } = found(async () => {
      asked++
      return ['8.8.8.8 50', '8.8.4.4 5'].map((said) => ({ address: said.slice(0, 7), ttl: Number(said.slice(8)) }))
    })
    await of()
    await clock.advance(4_999)
    await of()
    expect(asked).toBe(1)
    await clock.advance(1)
    await of()
    expect(asked).toBe(2)
  })

  test('as there being none for two seconds, and its attempt counts', async () => {
    const { clock, server, of } = await setup({ [NAME]: NXDOMAIN, 'empty.example.com': { addresses: [] } })
    for (const name of [NAME, 'empty.example.com']) {
      for (let i = 0; i < 3; i++) await expect(of(name)).rejects.toMatchObject({ code: 'ENOTFOUND' })
      expect(server.asked(name)).toBe(2)
    }
    server.say(NAME, V4)
    await clock.advance(2_000)
    expect(await of()).toEqual(V4.addresses)
  })

  test('in no more than 64 addresses', async () => {
    const all = Array.from({ length: 4_000 }, (_, i) => ({ address: `93.184.${i >> 8}.${i & 255}` }))
    expect(await found(async () => all).of()).toHaveLength(64)
  })
})

describe('a name of which no server says where it leads', () => {
  test.each([
    ['is answered by a failure', SERVFAIL],
    ['is not answered', 'nothing'],
  ] as const)('costs no attempt where it %s, and is left alone for five seconds', async (_, said) => {
    const { clock, server, of } = await setup({ [NAME]: said })
    const first = watch(of())
    await eventually(() => server.asked()).toBeGreaterThanOrEqual(2)
    // 2 s of patience, of 10 s that a lookup takes at most
    for (let s = 0; s < 10; s++) await clock.advance(1_000)
    expect(first.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
    const before = server.asked()
    server.say(NAME, V4)
    const then = watch(of())
    await clock.advance(2_000)
    if (said === 'nothing') {
      expect(then.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
      expect(server.asked()).toBe(before)
    }
    await clock.advance(3_000)
    expect(await of()).toEqual(V4.addresses)
  })

  test('and is slow is found for the attempt that comes after, though it is to be kept for no time', async () => {
    const answers: ((found: Awaited<ReturnType<Lookup>>) => void)[] = []
    const { clock, of } = found(() => new Promise((resolve) => answers.push(resolve)))
    const first = watch(of())
    await clock.advance(9_999)
    expect(first.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
    answers[0]?.([{ address: '8.8.8.8', ttl: 0 }])
    await clock.advance(29_999)
    expect(await of()).toEqual(['8.8.8.8'])
    expect(answers).toHaveLength(1)
    await clock.advance(1)
    void of().catch(() => {})
    expect(answers).toHaveLength(2)
  })

  test('is not asked for once the names are closed', async () => {
    const { clock, of, close, server } = await setup({ [NAME]: 'nothing' })
    const found = watch(of())
    await eventually(() => server.asked()).toBe(2)
    close()
    await eventually(() => found.state).toBe('rejected')
    await clock.advance(10_000)
    expect(server.asked()).toBe(2)
  })
})

describe('places', () => {
  const DEAD = Array.from({ length: 200 }, (_, i) => `dead${i}.example.com`)

  test.each([2, 200])('beside %i silent names of other tenants a name is found at once', async (count) => {
    const { clock, server, of } = await setup({ [NAME]: V4 })
    const silent = DEAD.slice(0, count).map((name) => watch(of(name, 'evil')))
    await eventually(() => server.asked()).toBe(2 * Math.min(count, 40))
    // no time passes: the clock stands still
    expect(await of(NAME, 'good')).toEqual(V4.addresses)
    await clock.advance(2_000)
    expect(new Set(silent.map(({ error }) => (error as { code: string }).code))).toEqual(new Set(['NAME_UNRESOLVED']))
  })

  test.each([
    [1, [40]],
    [2, [22, 22]],
    [10, Array.from({ length: 10 }, () => 5)],
  ])('are left for others by %i tenants with silent names', async (count, most) => {
    const taken = Array.from({ length: count }, () => 0)
    const { of } = found((name) => {
      const tenant = Number(name.split('.').at(-1))
      taken[tenant] = (taken[tenant] ?? 0) + 1
      return new Promise(() => {})
    })
    for (const [i, name] of DEAD.entries()) void of(`${name}.${i % count}`, `${i % count}`).catch(() => {})
    for (const [i, each] of taken.entries()) expect(Math.abs(each - (most[i] ?? 0))).toBeLessThanOrEqual(1)
  })

  test('come free for the next in line, and a tenant that waits has the next turn', async () => {
    const begun: string[] = []
    const ends: (() => void)[] = []
    const { of } = found((name) => {
      begun.push(name)
      return new Promise((resolve) => ends.push(() => resolve([{ address: '8.8.8.8' }])))
    })
    const ask = (name: string, tenant: string) => watch(of(name, tenant))
    for (const name of DEAD) ask(name, 'evil')
    // others take what is left
    for (let i = 0; i < 10; i++) ask(`own${i}.example`, `tenant${i}`)
    const [good, next] = [ask('good.example', 'good'), ask(DEAD[60] as string, 'good')]
    expect(begun).not.toContain('good.example')
    const end = async () => {
      ends.shift()?.()
      await Promise.resolve().then(() => {})
    }
    await end()
    await eventually(() => begun).toContain('good.example')
    ends.at(-1)?.()
    await eventually(() => good.value).toEqual(['8.8.8.8'])
    expect(next.state).toBe('pending')
  })
})

describe('name servers', () => {
  const files = (hosts: string, resolv = '') => {
    const cwd = folder({ hosts, resolv })
    return { hosts: join(cwd, 'hosts'), resolv: join(cwd, 'resolv') }
  }

  test('are asked one after another, and the one that has answered first from then on', async () => {
    const clock = fakeClock()
    const [silent, well] = [await nameServer({ [NAME]: 'nothing' }), await nameServer({ [NAME]: V4, 'b.example': V4 })]
    const { names, close } = openNames({ dnsServers: [silent.address, well.address], clock })
    onTestFinished(close)
    const of = (name: string) => names.addressesOf(name, { tenant: null, withinMs: 2_000 })
    const found = watch(of(NAME))
    await eventually(() => silent.asked()).toBe(2)
    expect(well.asked()).toBe(0)
    await clock.advance(1_000)
    await eventually(() => found.value).toEqual(V4.addresses)
    expect(await of('b.example')).toEqual(V4.addresses)
    expect(silent.asked('b.example')).toBe(0)
  })

  test('that fail are passed over at once', async () => {
    const [failing, well] = [await nameServer({ [NAME]: SERVFAIL }), await nameServer({ [NAME]: V4 })]
    const { names, close } = openNames({ dnsServers: [failing.address, well.address], clock: fakeClock() })
    onTestFinished(close)
    expect(await names.addressesOf(NAME, { tenant: null, withinMs: 2_000 })).toEqual(V4.addresses)
  })

  test.each([[['name.example']], [['10.0.0.1:99999']], [['']], [[]]])('given as %j are refused', (dnsServers) => {
    expect(() => openNames({ dnsServers })).toThrow(/^dnsServers: expected addresses such as 10\.0\.0\.53/)
  })

  test('are asked for both kinds of addresses, and one kind is enough where the other is not answered', async () => {
    const clock = fakeClock()
    const both = { addresses: ['93.184.215.14', '2606::1111'] }
    const server = await nameServer({ [NAME]: both })
    const asked = new NameServers({ clock, servers: [server.address] })
    onTestFinished(() => asked.close())
    asked.local(NAME)
    const found = await asked.find(NAME)
    expect(found.map(({ address }) => address).sort()).toEqual([...both.addresses].sort())
    expect(found.map(({ ttl }) => ttl)).toEqual([60, 60])
  })

  test('are not asked for names of the hosts file, which is read again when it has changed', async () => {
    const clock = fakeClock()
    const server = await nameServer()
    const paths = files(
      `# a comment\n10.1.0.5\tBilling.example.com billing # another\nfd00::5 billing.example.com\nnot-an-address x.example\n`,
    )
    const asked = new NameServers({ clock, servers: [server.address], files: paths })
    onTestFinished(() => asked.close())
    for (const name of ['billing.example.com', 'billing.example.com.']) {
      expect(asked.local(name)).toEqual(['10.1.0.5', 'fd00::5'])
    }
    expect(asked.local('billing')).toEqual(['10.1.0.5'])
    expect(asked.local('x.example')).toBeUndefined()
    writeFileSync(paths.hosts, '10.1.0.6 billing.example.com\n')
    expect(asked.local('billing.example.com')).toEqual(['10.1.0.5', 'fd00::5'])
    await clock.advance(1_000)
    expect(asked.local('billing.example.com')).toEqual(['10.1.0.6'])
    expect(server.asked()).toBe(0)
  })

  test.each(['localhost', 'api.localhost', 'localhost.'])('are not asked for %s, which is this host', async (name) => {
    const server = await nameServer()
    const asked = new NameServers({ clock: fakeClock(), servers: [server.address], files: files('') })
    expect(asked.local(name)).toEqual(['127.0.0.1', '::1'])
  })

  test.each([
    ['', 'api', ['api']],
    ['search a.example b.example', 'api', ['api.a.example', 'api.b.example', 'api']],
    ['search a.example', 'api.web', ['api.web', 'api.web.a.example']],
    ['search a.example.\noptions timeout:1 ndots:5', 'api.web', ['api.web.a.example', 'api.web']],
    ['domain a.example', 'api', ['api.a.example', 'api']],
    ['search a.example', 'api.', ['api']],
  ])('with %j are asked for %s as %j', async (resolv, name, expected) => {
    const order: string[] = []
    const server = await nameServer()
    const asked = new NameServers({ clock: fakeClock(), servers: [server.address], files: files('', resolv) })
    onTestFinished(() => asked.close())
    asked.local(name)
    await expect(asked.find(name)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    for (const each of expected) if (server.asked(each) === 2) order.push(each)
    expect(order).toEqual(expected)
    expect(server.asked()).toBe(2 * expected.length)
  })
})

test('L4 beside tasks to silent names those of another tenant are sent, each with its first attempt', async () => {
  const { port, seen } = await target()
  const own = Array.from({ length: 10 }, (_, i) => `own${i}.example.com`)
  const server = await nameServer(Object.fromEntries(own.map((name) => [name, { addresses: ['127.0.0.1'], ttl: 0 }])))
  const { post, ask } = await serviceOver({
    ...{ allowHttp: true, allowPrivate: ['127.0.0.0/8'], targets: [`:${port}`], dnsServers: [server.address] },
  })
  const tasks = (names: readonly string[]) => names.map((name) => ({ targetUrl: `http://${name}:${port}/`, json: 1 }))
  const as = (tenant: string) => ({ 'redrive-tenant': tenant })
  const dead = Array.from({ length: 60 }, (_, i) => `dead${i}.example.com`)
  await post('/retry-tasks/batch', { tasks: tasks(dead) }, as('evil'))
  await eventually(() => server.asked()).toBe(2 * 40)
  await post('/retry-tasks/batch', { tasks: tasks(own) }, as('good'))
  await eventually(() => seen.length).toBe(own.length)
  const listed = async (tenant: string) => {
    const answer = await ask('/retry-tasks?limit=100', { headers: as(tenant) })
    return ((await answer.json()) as { tasks: { attemptNumber: number }[] }).tasks.map((task) => task.attemptNumber)
  }
  await expect.poll(() => listed('good')).toEqual(own.map(() => 1))
  // one that is given back has spent none, and one that is under way is the first
  expect(Math.max(...(await listed('evil')))).toBeLessThanOrEqual(1)
})
