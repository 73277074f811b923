import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { Secrets } from '../../../js/service/secrets.ts'
import { keyIn, makeSigning, signatureOf } from '../../../js/service/signing.ts'
import { fakeClock } from '../../../js/testing.ts'

const key = (text: string) => {
  const found = keyIn(text)
  if (!found) throw new Error(`${text} is no key`)
  return found
}

/** Published by the reference libraries of Standard Webhooks, and as the example of headers in its specification. */
const VECTOR = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  seconds: 1_614_265_330,
  body: Buffer.from('{"test": 2432232314}'),
  whsec: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  v1: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  whsk: 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
  v1a: 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
} as const

describe('signatures', () => {
  test.each([
    ['HMAC', [VECTOR.whsec], VECTOR.v1],
    ['ed25519', [VECTOR.whsk], VECTOR.v1a],
    ['both, during a rotation', [VECTOR.whsec, VECTOR.whsk], `${VECTOR.v1} ${VECTOR.v1a}`],
  ])('are those that the specification publishes: %s', (_, keys, signature) => {
    const { id, seconds, body } = VECTOR
    expect(signatureOf(id, seconds, body, keys.map(key))).toEqual({
      'webhook-id': id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': signature,
    })
  })

  test('pass the reference library, with either of two keys, and not with another body, id or time', () => {
    const secret = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`
    const [one, two] = [secret('a'), secret('b')]
    const body = Buffer.from('{"name":"Zoë"}')
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = { ...signatureOf('task-1', seconds, body, [key(one), key(two)]) }
    for (const own of [one, two]) expect(new Webhook(own).verify(body, headers)).toEqual({ name: 'Zoë' })
    const wrong = [
      () => new Webhook(one).verify('{"name":"Zoe"}', headers),
      () => new Webhook(one).verify(body, { ...headers, 'webhook-id': 'task-2' }),
      () => new Webhook(one).verify(body, { ...headers, 'webhook-timestamp': `${seconds + 1}` }),
      () => new Webhook(secret('c')).verify(body, headers),
    ]
    for (const attempt of wrong) expect(attempt).toThrow('No matching signature found')
  })

  test('cover bytes that are no text', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d as string, 'base64url')
    const body = Uint8Array.from([0, 255, 128, 10])
    const headers = signatureOf('id', 7, body, [key(`whsk_${seed.toString('base64')}`)])
    const [, signature = ''] = headers['webhook-signature']?.split(',') ?? []
    const content = Buffer.concat([Buffer.from('id.7.'), body])
    expect(verify(null, content, publicKey, Buffer.from(signature, 'base64'))).toBe(true)
  })
})

const bytes = (count: number) => Buffer.alloc(count, 7).toString('base64')

test.each([
  [`whsec_${bytes(24)}`, true],
  [`whsec_${bytes(64)}`, true],
  [`whsec_${bytes(23)}`, false],
  [`whsec_${bytes(65)}`, false],
  ['whsec_', false],
  [`whsec_${bytes(24).slice(1)}`, false],
  [bytes(24), false],
  [`whsk_${bytes(32)}`, true],
  [`whsk_${bytes(31)}`, false],
  [`whsk_${bytes(64)}`, false],
  [`whpk_${bytes(32)}`, false],
])('%s is a key: %s', (text, isOne) => {
  expect(keyIn(text) !== undefined).toBe(isOne)
})

test('a private key with another public key behind it is none', () => {
  const seed = Buffer.alloc(32, 7)
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const pair = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const own = createPublicKey(pair).export({ format: 'jwk' }).x as string
  const right = Buffer.concat([seed, Buffer.from(own, 'base64url')])
  expect(keyIn(`whsk_${right.toString('base64')}`)).toBeDefined()
  right.writeUInt8((right.at(-1) as number) ^ 1, 63)
  expect(keyIn(`whsk_${right.toString('base64')}`)).toBeUndefined()
})

function setup(env: Readonly<Record<string, string>>) {
  const clock = fakeClock()
  const told: string[] = []
  const secrets = new Secrets({ clock, env })
  const make = (given: object) =>
    makeSigning(given as Parameters<typeof makeSigning>[0], {
      secrets,
      clock,
      report: (name, why) => void told.push(`${name}: ${why}`),
    })
  /** Signs an attempt of a task that may be signed. */
  const signed = async (given: object, name: string, id: string) => {
    const signer = make(given).signerOf(name, null, id)
    if (typeof signer === 'string') throw new Error(signer)
    return (await signer({ ...REQUEST, body: VECTOR.body })) as Record<string, string>
  }
  return { clock, told, make, signed }
}

const REQUEST = { method: 'POST', url: 'https://a.test/', headers: new Headers(), signal: new AbortController().signal }

describe('an attempt', () => {
  test('is signed as of its own time, under the id of its task', async () => {
    const { clock, signed } = setup({ KEY: VECTOR.whsec })
    const first = await signed({ hooks: { keys: [{ from: 'env:KEY' }] } }, 'hooks', VECTOR.id)
    await clock.advance(90_000)
    const second = await signed({ hooks: { keys: [{ from: 'env:KEY' }] } }, 'hooks', VECTOR.id)
    expect([first['webhook-id'], second['webhook-id']]).toEqual([VECTOR.id, VECTOR.id])
    expect(Number(second['webhook-timestamp']) - Number(first['webhook-timestamp'])).toBe(90)
    expect(second['webhook-signature']).not.toBe(first['webhook-signature'])
  })

  test('whose key cannot be read fails, and where the key was to be is told without it', async () => {
    const { told, signed } = setup({ KEY: 'whsec_c2VjcmV0' })
    const given = { hooks: { keys: [{ from: 'env:KEY' }] }, other: { keys: [{ from: 'env:NONE' }] } }
    await expect(signed(given, 'hooks', 'x')).rejects.toThrow(/24 to 64 bytes/)
    await expect(signed(given, 'other', 'x')).rejects.toThrow(/no such variable/)
    expect(told).toHaveLength(2)
    expect(told.join()).not.toContain('c2VjcmV0')
  })

  test('is signed for tenants that may have it alone', () => {
    const signing = setup({}).make({
      ours: { keys: [{ from: 'env:KEY' }], tenants: ['acme'] },
      all: { keys: [{ from: 'env:KEY' }], tenants: '*' },
      none: { keys: [{ from: 'env:KEY' }] },
    })
    const may = (tenant: string | null) =>
      ['ours', 'all', 'none', 'toString'].filter((name) => typeof signing.signerOf(name, tenant, 'x') === 'function')
    expect([may('acme'), may('other'), may(null)]).toEqual([['ours', 'all'], ['all'], ['all', 'none']])
    expect(signing.signerOf('ours', 'other', 'x')).toBe("there is no signing 'ours' for this tenant")
    expect(signing.signerOf('nothing', 'other', 'x')).toBe("there is no signing 'nothing' for this tenant")
  })
})

test.each([
  [[], /^signing: expected an object/],
  [{ 'a b': {} }, /^signing: expected names of 1 to 64 letters/],
  [{ hooks: [] }, /^signing\.hooks: expected an object/],
  [{ hooks: { keys: [] } }, /^signing\.hooks\.keys: expected a list/],
  [{ hooks: { keys: [{ from: VECTOR.whsec }] } }, /^signing\.hooks\.keys\[0\]: expected \{ "from"/],
  [{ hooks: { keys: [{ from: 'env:A', prefix: '' }] } }, /^signing\.hooks\.keys\[0\]/],
  [{ hooks: { keys: [{ from: 'env:A' }], tenants: 'acme' } }, /^signing\.hooks\.tenants: expected a list/],
  [{ hooks: { keys: [{ from: 'env:A' }], origin: 'x' } }, /^signing\.hooks\.origin: no such key/],
])('%j is refused', (given, message) => {
  const make = () => setup({}).make(given)
  expect(make).toThrow(message)
  expect(make).not.toThrow('MfKQ9r8')
})
