import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashOf, tokenOf } from '../../../../js/service/cli/token.ts'
import { run } from './setup.ts'

test.each([
  ['00000000000000000000000000000000', 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'],
  ['ffffffffffffffffffffffffffffffff', 'rd_7777777777777777777777777' + '4'],
  // base32 of RFC 4648 over 00 01 02 .. 0f, in small letters and without its padding
  ['000102030405060708090a0b0c0d0e0f', 'rd_aaaqeayeaudaocajbifqydiob4'],
])('128 bits %s are 26 letters of base32', (hex, token) => {
  expect(tokenOf(Buffer.from(hex, 'hex'))).toBe(token)
})

test('the hash of an entry is that of the token as it is sent', () => {
  const token = 'rd_aaaqeayeaudaocajbifqydiob4'
  expect(hashOf(token)).toBe(createHash('sha256').update(Buffer.from(token)).digest('hex'))
  expect(hashOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('a token and its entry are printed, the token once', async () => {
  const { code, out } = await run('token --tenant acme --scope tasks:read,tasks:write --name backend')
  expect(code).toBe(0)
  const [token = ''] = out.match(/rd_[a-z2-7]{26}/g) ?? []
  expect(out.split(token)).toHaveLength(2)
  const entry = { sha256: hashOf(token), tenant: 'acme', scopes: ['tasks:read', 'tasks:write'], name: 'backend' }
  const file = out.slice(out.indexOf('[\n'))
  expect(JSON.parse(file)).toEqual([entry])
  const { settings } = await run('--tokens tokens.json', { files: { 'tokens.json': JSON.parse(file) } })
  expect(settings?.tokens).toMatchObject([entry])
})

test('no two tokens are alike, and one without a tenant is for none', async () => {
  const made = await Promise.all([1, 2].map(() => run('token --scope admin --json')))
  const [one, two] = made.map(({ out }) => JSON.parse(out) as { readonly token: string; readonly entry: object })
  expect(one?.token).not.toBe(two?.token)
  expect(one?.entry).toEqual({ sha256: hashOf(one?.token ?? ''), tenant: null, scopes: ['admin'] })
})

test('an entry as it is printed is one that the service takes', async () => {
  const { entry } = JSON.parse((await run('token --tenant acme --scope metrics --json')).out)
  const { settings } = await run('', { files: { 'redrive.config.json': { tokens: [entry] } } })
  expect(settings?.tokens).toMatchObject([entry])
})

test.each([
  ['', '--scope is missing: expected some of tasks:read, tasks:write, policies:write, admin, metrics'],
  ['--scope task:read', "--scope: there is no scope 'task:read'; did you mean tasks:read?"],
  ['--tenant ünï --scope admin', "--tenant: expected 1 to 255 visible ASCII characters, got 'ünï'"],
  ['acme --scope admin', "token: unexpected 'acme'; write --tenant acme"],
])('token %s is refused', async (line, message) => {
  expect(await run(`token ${line}`)).toMatchObject({ code: 2, out: '', err: `redrive: ${message}\n` })
})
