/** Patterns of targets, development mode, and names that are resolved. */

import { describe, expect, test } from 'vitest'
import { type Guard, type GuardOptions, makeGuard, TargetRefusedError } from '../../../js/service/guard.ts'
import type { Lookup } from '../../../js/service/names.ts'
import { fakeClock } from '../../../js/testing.ts'
import { watch } from '../setup.ts'
import { resolver } from './sending.ts'

const rule = (guard: Guard, url: string) => guard.check(url)?.rule
const allow = (...targets: string[]) => makeGuard({ targets, allowHttp: true })

describe('targets', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com/orders?x=1'],
    ['https://api.example.com', 'https://api.example.com:443/'],
    ['https://api.example.com', 'https://API.example.com./'],
    ['https://API.Example.com/', 'https://api.example.com/'],
    ['https://api.example.com.', 'https://api.example.com/'],
    ['https://api.example.com:443', 'https://api.example.com/'],
    ['https://api.example.com:8443', 'https://api.example.com:8443/'],
    ['https://*.example.com', 'https://a.example.com/'],
    ['https://*.example.com', 'https://a.b.example.com/'],
    ['https://*.example.com:8443', 'https://a.example.com:8443/'],
    ['http://api.example.com', 'http://api.example.com/'],
    ['https://bücher.example', 'https://xn--bcher-kva.example/'],
    ['https://xn--bcher-kva.example', 'https://BÜCHER.example/'],
    ['https://8.8.8.8', 'https://134744072/'],
    ['https://[2606:4700::1111]:8443', 'https://[2606:4700:0::1111]:8443/'],
    [':8443', 'https://api.example.com:8443/'],
    [':8443', 'http://api.example.com:8443/'],
    [':443', 'https://api.example.com/'],
  ])('%s allows %s', (pattern, url) => {
    expect(rule(allow(pattern), url)).toBeUndefined()
    expect(rule(allow('https://other.example', pattern), url)).toBeUndefined()
  })

  test.each([
    ['https://api.example.com', 'https://example.com/'],
    ['https://api.example.com', 'https://api.example.com.evil.example/'],
    ['https://api.example.com', 'https://evil-api.example.com/'],
    ['https://api.example.com', 'https://a.api.example.com/'],
    ['https://api.example.com', 'https://api.example.com:8443/'],
    ['https://api.example.com', 'https://api.example.com:80/'],
    ['https://api.example.com', 'http://api.example.com/'],
    ['https://api.example.com', 'http://api.example.com:443/'],
    ['https://api.example.com:8443', 'https://api.example.com/'],
    ['https://*.example.com', 'https://example.com/'],
    ['https://*.example.com', 'https://aexample.com/'],
    ['https://*.example.com', 'https://a.example.com.evil.example/'],
    ['https://*.example.com', 'https://evil.example/.example.com'],
    ['http://api.example.com', 'https://api.example.com/'],
    [':8443', 'https://api.example.com/'],
    ['https://8.8.8.8', 'https://8.8.4.4/'],
  ])('%s alone does not allow %s', (pattern, url) => {
    expect(rule(allow(pattern), url)).toBe('targets')
  })

  test('an empty list allows nothing', () => {
    expect(rule(makeGuard({ targets: [] }), 'https://example.com/')).toBe('targets')
  })

  test('a pattern for any name opens neither inner names nor refused addresses', () => {
    const guard = allow(':8443')
    expect(rule(guard, 'https://localhost:8443/')).toBe('name')
    expect(rule(guard, 'https://db.internal:8443/')).toBe('name')
    expect(rule(guard, 'https://10.0.0.1:8443/')).toBe('private')
  })

  test.each([
    ['api.example.com', 'write one such as'],
    ['', 'write one such as'],
    ['*', 'write one such as'],
    ['ftp://example.com', 'write one such as'],
    [':0', 'ports are 1 to 65535'],
    [':65536', 'ports are 1 to 65535'],
    ['https://example.com:65536', 'its name is none'],
    ['https://', 'its name is none'],
    ['https://*', 'stands before a name'],
    ['https://api.*.com', 'stands before a name'],
    ['https://a*.example.com', 'stands before a name'],
    ['https://*.*.example.com', 'stands before a name'],
    ['https://*.8.8.8.8', 'an address has nothing below it'],
    ['https://user@example.com', 'it has a user name'],
    ['https://example.com/path', 'a pattern ends after the name'],
    ['https://example.com?x', 'a pattern ends after the name'],
    ['https://example.com?', 'a pattern ends after the name'],
    ['https://example.com#', 'a pattern ends after the name'],
    ['https://localhost', 'is never sent to'],
    ['https://api.localhost:3000', 'is never sent to'],
    ['https://*.internal', 'is never sent to'],
    ['https://billing.acme.internal', 'is never sent to'],
    ['https://10.0.0.1', 'open its range with --allow-private (allowPrivate)'],
    ['https://[::1]', 'open its range with --allow-private (allowPrivate)'],
    ['https://a..b', 'is never sent to'],
  ])('%j is refused as a pattern, and the error says what to write', (pattern, why) => {
    expect(() => allow(pattern)).toThrow(TypeError)
    expect(() => allow(pattern)).toThrow(`targets: '${pattern}'`)
    expect(() => allow(pattern)).toThrow(why)
  })

  test('all that is wrong with a pattern is said at once, with the flags that allow it', () => {
    expect(() => makeGuard({ targets: ['http://127.0.0.1:8080'] })).toThrow(
      "targets: 'http://127.0.0.1:8080' is a refused address (loopback); open its range with --allow-private (allowPrivate). " +
        'It is sent to in the clear; write https:, or give --allow-http (allowHttp)',
    )
  })

  test('a pattern with http: is refused where nothing is sent by it', () => {
    expect(() => makeGuard({ targets: ['http://api.example.com'] })).toThrow('allowHttp')
  })
})

describe('http:', () => {
  test('is refused unless it is allowed', () => {
    expect(rule(makeGuard(), 'http://api.example.com/')).toBe('scheme')
    expect(rule(makeGuard({ allowHttp: true }), 'http://api.example.com/')).toBeUndefined()
    expect(rule(makeGuard(), 'https://api.example.com/')).toBeUndefined()
  })
})

describe('opened ranges', () => {
  test('an address in one may be sent to, another may not', () => {
    const guard = makeGuard({ allowPrivate: ['10.1.0.0/16'] })
    expect(rule(guard, 'https://10.1.2.3/')).toBeUndefined()
    expect(rule(guard, 'https://10.2.2.3/')).toBe('private')
  })

  test('a range that is none is refused with the option and the value', () => {
    expect(() => makeGuard({ allowPrivate: ['10.1.0.0/16', '10.1/16'] })).toThrow("allowPrivate: '10.1/16'")
  })
})

describe('development', () => {
  const guard = makeGuard({ allowLoopback: true, targets: ['https://api.example.com'] })

  test.each(
    (
      'http://localhost:3000/ http://api.localhost/ http://127.0.0.1:8080/ http://[::1]:1/ ' +
      'https://127.9.9.9/ http://0x7f.1:22/ http://[::ffff:127.0.0.1]/ http://LOCALHOST.:3000 ' +
      'https://api.example.com/'
    ).split(' '),
  )('%s may be sent to', (url) => {
    expect(rule(guard, url)).toBeUndefined()
  })

  test.each([
    ['http://api.example.com/', 'scheme'],
    ['http://localhost.example.com:3000/', 'scheme'],
    ['https://other.example/', 'targets'],
    ['https://0.0.0.0/', 'targets'],
    ['http://10.0.0.1/', 'scheme'],
    ['http://user@localhost/', 'userinfo'],
    ['ftp://localhost/', 'scheme'],
    ['https://db.internal/', 'name'],
    ['http://169.254.169.254/', 'scheme'],
  ])('%s is refused as ever (%s)', (url, expected) => {
    expect(rule(guard, url)).toBe(expected)
  })

  test('a loopback pattern may be written, with http:', () => {
    const written = makeGuard({ allowLoopback: true, targets: ['http://localhost:3000'] })
    expect(rule(written, 'http://localhost:3000/')).toBeUndefined()
  })
})

const resolving = (find: Lookup, options: GuardOptions = {}) => makeGuard({ ...options, lookup: find })

describe('a name is resolved', () => {
  test('to all of its addresses where all are public', async () => {
    const guard = resolving(resolver(['93.184.215.14', '2606:4700::1111']))
    expect(await guard.resolve('api.example.com')).toEqual(['93.184.215.14', '2606:4700::1111'])
  })

  test.each([
    [['127.0.0.1'], 'loopback'],
    [['93.184.215.14', '10.0.0.1'], 'private'],
    [['10.0.0.1', '93.184.215.14'], 'private'],
    // its A record is public, its AAAA is not
    [['93.184.215.14', 'fd00::1'], 'unique-local'],
    [['93.184.215.14', '::1'], 'loopback'],
    [['93.184.215.14', '::ffff:169.254.169.254'], 'metadata'],
    [['2606:4700::1111', '0.0.0.0'], 'this-network'],
    [['fe80::1%eth0'], 'zone-id'],
    [['2606:4700::1111%lo'], 'zone-id'],
    [['93.184.215.14', 'nonsense'], 'unreadable'],
    [['0x7f.1'], 'unreadable'],
    [[''], 'unreadable'],
  ])('and refused as a whole where it leads to %j (%s)', async (found, expected) => {
    const error = await resolving(resolver(found))
      .resolve('api.example.com')
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TargetRefusedError)
    expect(error).toMatchObject({ code: 'TARGET_REFUSED', name: 'TargetRefusedError', rule: expected })
    for (const address of found.filter(Boolean)) expect((error as Error).message).not.toContain(address)
    expect((error as Error).message).toContain("'api.example.com' is refused")
  })

  test('once: a second answer is asked for by the next connection only', async () => {
    const find = resolver(['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14'])
    const guard = resolving(find)
    expect(await guard.resolve('api.example.com')).toEqual(['93.184.215.14'])
    expect(find.asked()).toBe(1)
    await expect(guard.resolve('api.example.com')).rejects.toMatchObject({ rule: 'loopback' })
    expect(await guard.resolve('api.example.com')).toEqual(['93.184.215.14'])
  })

  test('once for all who ask meanwhile, each of whom the answer is checked for', async () => {
    const find = resolver(['10.0.0.1'])
    const guard = resolving(find)
    const all = await Promise.allSettled([1, 2, 3].map(() => guard.resolve('api.example.com')))
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(find.asked()).toBe(1)
  })

  test('and no address at all is an error of the network', async () => {
    await expect(resolving(resolver([])).resolve('api.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  test('and where the resolver fails the attempt is to be given back', async () => {
    const cause = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    const found = resolving(() => Promise.reject(cause)).resolve('api.example.com')
    await expect(found).rejects.toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {}, cause })
  })

  test('for two seconds at most, and asked no second time while it does not answer', async () => {
    const clock = fakeClock()
    let asked = 0
    const guard = resolving(() => new Promise(() => asked++), { clock })
    const first = watch(guard.resolve('api.example.com'))
    await clock.advance(1_999)
    expect(first.state).toBe('pending')
    const second = watch(guard.resolve('api.example.com'))
    await clock.advance(1)
    expect(first.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
    await clock.advance(1_999)
    expect(second.error).toMatchObject({ code: 'NAME_UNRESOLVED', unmade: {} })
    expect(asked).toBe(1)
    await clock.advance(10_000)
    expect(clock.timers).toBe(0)
  })

  test.each(['8.8.8.8', '[2606:4700::1111]', '2606:4700::1111'])(
    'and %s, which is an address, is not asked for',
    async (host) => {
      const find = resolver(['10.0.0.1'])
      expect(await resolving(find).resolve(host)).toEqual([host.replace(/[[\]]/g, '')])
      expect(find.asked()).toBe(0)
    },
  )

  test.each(['127.0.0.1', '[::1]', '::1', '169.254.169.254'])(
    'and the address %s is refused without being asked for',
    async (host) => {
      await expect(resolving(resolver(['8.8.8.8'])).resolve(host)).rejects.toBeInstanceOf(TargetRefusedError)
    },
  )

  test('within an opened range', async () => {
    const guard = resolving(resolver(['10.1.0.5']), { allowPrivate: ['10.1.0.0/16'] })
    expect(await guard.resolve('billing.example.com')).toEqual(['10.1.0.5'])
  })
})

describe('a name is resolved in development', () => {
  const options = { allowLoopback: true, allowPrivate: ['10.0.0.0/8'] }

  test.each(['localhost', 'api.localhost', 'localhost.'])('%s to the host itself', async (host) => {
    expect(await resolving(resolver(['127.0.0.1', '::1']), options).resolve(host)).toEqual(['127.0.0.1', '::1'])
  })

  test.each([
    [['93.184.215.14'], 'name'],
    [['127.0.0.1', '10.0.0.1'], 'name'],
    [['192.168.0.1'], 'private'],
  ])('localhost that leads to %j is refused (%s)', async (found, expected) => {
    await expect(resolving(resolver(found), options).resolve('localhost')).rejects.toMatchObject({ rule: expected })
  })

  test('another name may not lead to the host itself', async () => {
    const guard = resolving(resolver(['127.0.0.1']), options)
    await expect(guard.resolve('rebound.example.com')).rejects.toMatchObject({ rule: 'loopback' })
  })
})

test('each refusal is counted by its rule', async () => {
  const rules: string[] = []
  const guard = resolving(resolver(['10.0.0.1']), { onRefused: (rule) => rules.push(rule) })
  guard.check('https://example.com/')
  guard.check('http://example.com/')
  guard.check('https://localhost/')
  await guard.resolve('api.example.com').catch(() => {})
  guard.refuseAddress('api.example.com', '127.0.0.1')
  expect(rules).toEqual(['scheme', 'name', 'private', 'loopback'])
})

test('the resolver of the system is asked where none is given', async () => {
  const guard = makeGuard({ allowLoopback: true })
  const found = await guard.resolve('localhost')
  expect(found.length).toBeGreaterThan(0)
  await expect(makeGuard().resolve('localhost')).rejects.toMatchObject({ rule: 'loopback' })
})
