/** Whatever a resolver says, no refused address is connected to, and no byte is written before the address was checked. */

import { connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { refusalOf } from '../../../js/service/addresses.ts'
import { type Dialled, dialTcp } from '../../../js/service/dial.ts'
import { TargetRefusedError } from '../../../js/service/guard.ts'
import { fakeClock } from '../../../js/testing.ts'
import { bySize } from '../../size.ts'
import { eventually } from '../eventually.ts'
import { caught, type Listener, NAME, replay, resolver, saying, sending, serveRaw } from './sending.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'

describe('before it is sent', () => {
  test.each([
    ['http://127.0.0.1:80/', 'loopback'],
    ['https://[::1]/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://169.254.169.254/latest/meta-data/', 'metadata'],
    ['https://localhost/', 'name'],
    ['https://user:pass@example.com/', 'userinfo'],
    ['https://example.com:22/', 'targets'],
    ['file:///etc/passwd', 'scheme'],
    ['nonsense', 'url'],
  ])('%s is refused, and nothing is resolved or connected to (%s)', async (url, rule) => {
    const lookup = resolver(['127.0.0.1'])
    const dial = () => expect.unreachable('connected')
    const { send, rules } = sending(80, { allowPrivate: [], targets: [':80', ':443'], lookup, dial })
    const error = await caught(send(null, url, replay()))
    expect(error).toBeInstanceOf(TargetRefusedError)
    expect(error).toMatchObject({ code: 'TARGET_REFUSED', rule })
    expect(rules).toHaveLength(1)
    expect(lookup.asked()).toBe(0)
  })
})

describe('a socket that has reached another address than was asked for', () => {
  test.each(['http', 'https'])('carries no byte, by %s:', async (scheme) => {
    const server = await serveRaw(() => {})
    const asked: Dialled[] = []
    // a network may send packets elsewhere, or a connector be wrong
    const dial = (dialled: Dialled) => {
      asked.push(dialled)
      return connect({ host: '127.0.0.1', port: server.port })
    }
    const { send, rules } = sending(server.port, { allowPrivate: [], lookup: resolver(['93.184.215.14']), dial })
    const init = replay({ method: 'POST', body: 'secret' })
    const error = await caught(send(null, `${scheme}://${NAME}:${server.port}/`, init))
    expect(error).toMatchObject({ code: 'TARGET_REFUSED', rule: 'loopback' })
    expect((error as Error).message).not.toMatch(/127\.0\.0\.1|93\.184/)
    expect(asked).toEqual([{ hostname: NAME, port: server.port, addresses: ['93.184.215.14'] }])
    expect(rules).toEqual(['loopback'])
    await eventually(() => server.accepted).toBe(1)
    await eventually(() => server.open).toBe(0)
    expect(server.bytes).toBe(0)
  })
})

test('a resolver that flips is asked once for a connection, and its second answer is connected to by none', async () => {
  const server = await serveRaw(saying(OK))
  const inner = await serveRaw(saying(OK), '127.128.0.1', server.port)
  const lookup = resolver(['127.0.0.1'], ['127.128.0.1'])
  const { send } = sending(server.port, { allowPrivate: ['127.0.0.0/9'], lookup })
  expect((await send(null, server.url, replay())).status).toBe(200)
  expect(lookup.asked()).toBe(1)
  await eventually(() => server.open).toBe(0)
  expect(await caught(send(null, server.url, replay()))).toMatchObject({ rule: 'loopback' })
  expect(lookup.asked()).toBe(2)
  expect([server.accepted, inner.accepted]).toEqual([1, 0])
})

test('the system’s resolver is not asked for a name that was resolved', async () => {
  const server = await serveRaw(saying(OK))
  const socket = dialTcp({ hostname: 'no-such-name.invalid', port: server.port, addresses: ['127.0.0.1'] })
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  expect(socket.remoteAddress).toBe('127.0.0.1')
  socket.destroy()
})

describe('whatever the resolver says', () => {
  const PUBLIC = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const
  const INNER = ['127.128.0.1', '127.128.0.2', '127.200.0.1'] as const
  /** Refused without a listener: none of these may be dialled. */
  const OTHERS = [
    '10.0.0.1',
    '::1',
    '::ffff:127.128.0.1',
    '169.254.169.254',
    'fe80::1%lo',
    '',
    'x',
    '127.0.0.1%lo',
    '0.0.0.0',
  ] as const

  const CASES = bySize(32, 150)

  test('no refused address is ever connected to, and what may be is', async () => {
    const first = await serveRaw(saying(OK), PUBLIC[0])
    const { port } = first
    const allowed: Listener[] = [first]
    const refused: Listener[] = []
    for (const host of PUBLIC.slice(1)) allowed.push(await serveRaw(saying(OK), host, port))
    for (const host of INNER) refused.push(await serveRaw(saying(OK), host, port))
    const answer = fc.array(fc.oneof(fc.constantFrom(...PUBLIC), fc.constantFrom(...PUBLIC, ...INNER, ...OTHERS)), {
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 4 }), async (answers) => {
        const dialled: string[] = []
        const clock = fakeClock()
        const { send, close } = sending(port, {
          clock,
          allowPrivate: ['127.0.0.0/9'],
          lookup: resolver(...answers),
          dial: (to) => {
            dialled.push(...to.addresses)
            return dialTcp(to)
          },
        })
        for (const found of answers) {
          const sent = await caught(send(null, `http://${NAME}:${port}/`, replay()))
          const isSound = found.length > 0 && found.every((address) => (PUBLIC as readonly string[]).includes(address))
          if (isSound) expect(sent).toMatchObject({ status: 200 })
          else if (found.length > 0) expect(sent).toBeInstanceOf(TargetRefusedError)
          else expect(sent).toMatchObject({ code: 'ENOTFOUND' })
          // that there is no such name is remembered for so long
          await clock.advance(2_000)
        }
        expect(dialled.filter((address) => !(PUBLIC as readonly string[]).includes(address))).toEqual([])
        await close()
      }),
      { numRuns: CASES },
    )
    expect(refused.map(({ accepted }) => accepted)).toEqual(INNER.map(() => 0))
    expect(allowed.reduce((sum, { accepted }) => sum + accepted, 0)).toBeGreaterThan(CASES / 3)
  })

  test('with the rules as they are by default, addresses are dialled that are public, all of an answer or none', async () => {
    const octets = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => [...bytes].join('.'))
    const address = fc.oneof(
      octets,
      fc.ipV6(),
      octets.map((v4) => `::ffff:${v4}`),
      fc.string(),
      fc.constantFrom('8.8.8.8', '1.1.1.1'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(address, { maxLength: 5 }), fc.boolean(), async (found, isTls) => {
        const dialled: string[] = []
        const { send, close } = sending(443, {
          allowPrivate: [],
          lookup: resolver(found),
          dial: ({ addresses }) => {
            dialled.push(...addresses)
            throw new Error('dialled')
          },
        })
        const error = await caught(send(null, `${isTls ? 'https' : 'http'}://${NAME}:443/`, replay()))
        const isSound = found.length > 0 && found.every((each) => refusalOf(each) === undefined)
        expect(dialled).toEqual(isSound ? found : [])
        expect((error as Error).message === 'dialled').toBe(isSound)
        await close()
      }),
      { numRuns: bySize(64, 500) },
    )
  })
})
