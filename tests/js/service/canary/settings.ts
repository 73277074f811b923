/** The settings of the service, in files and variables that are full of secrets: tokens, credentials, keys that sign. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Canaries, SHAPES, type Shape } from '../../canaries.ts'
import type { Place } from './processes.ts'
import type { CanaryServers } from './servers.ts'

/** The secrets of the settings, as fields. */
export const SETTINGS = [
  'a token',
  'a token of a tenant',
  'a credential from a variable',
  'a credential from a file',
  'a credential from a command',
  'a prefix of a credential',
  'a credential that no header can be',
  'a credential from a function',
  'an error of a function that gives credentials',
  'a signing key from a variable',
  'a signing key from a file',
  'a signing key from a command',
  'a signing key that is none',
] as const
type Setting = (typeof SETTINGS)[number]

/** Receivers fail at first, and are asked again at once. */
const CALLBACKS = {
  ...{ policyId: 'callbacks', strategy: 'fixed', initialDelayMs: 5, jitterType: 'NONE', maxAttempts: 5 },
  retryableStatusCodes: 'broad',
}

export interface Made {
  readonly folder: string
  readonly place: Place
  readonly tokens: readonly string[]
  /** Of the tenant `TENANT`, without the scope admin. */
  readonly tenantToken: string
}

export const TENANT = 'acme'
/** Credentials that tasks may name, by the field that each is of; `file-hex` and so on, of every shape. */
export const CREDENTIALS: readonly string[] = ['env', 'file', 'exec'].flatMap((from) =>
  SHAPES.map((shape) => `${from}-${shape}`),
)
export const UNUSABLE = 'unusable'
/** Of a function, and of one that fails. */
export const GIVEN = 'given'
export const FAILING = 'failing'
export const SIGNINGS = ['env', 'file', 'exec'] as const

/** Values of tokens have no blanks. */
const TOKENS: readonly Shape[] = ['base64url', 'hex', 'words']
const KEY_BYTES = 32

export function settingsIn({ target }: CanaryServers, canaries: Canaries): Made {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-canary-'))
  const env: Record<string, string> = {}
  const put = (name: string, content: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  const make = (field: Setting, shape?: Shape) => canaries.make(field, shape)
  const tokens = TOKENS.map((shape) => make('a token', shape))
  const tenantToken = make('a token of a tenant', 'base64url')
  put('policies.json', [CALLBACKS])
  put('tokens.json', [
    ...tokens.map((token, i) => ({ sha256: sha256(token), tenant: null, scopes: ['admin'], name: `operator ${i}` })),
    { sha256: sha256(tenantToken), tenant: TENANT, scopes: ['tasks:read', 'tasks:write'], name: 'backend' },
  ])

  /** Where a secret is read, by the way that its name says. */
  const from = (name: string, secret: string): string => {
    const [kind = ''] = name.split('-')
    const variable = `SECRET_${name.replaceAll('-', '_')}`.toUpperCase()
    if (kind === 'env') env[variable] = secret
    if (kind === 'env') return `env:${variable}`
    if (kind === 'exec') return `exec:printf %s '${secret}'`
    return `file:${put(`${variable}.secret`, `${secret}\n`)}`
  }
  const CREDENTIAL: Readonly<Record<string, Setting>> = {
    env: 'a credential from a variable',
    file: 'a credential from a file',
    exec: 'a credential from a command',
  }
  const credential = (name: string, value: string, prefix: string) => ({
    origins: [target],
    tenants: '*',
    headers: { authorization: { from: from(name, value), prefix }, 'x-acme-key': { from: from(`${name}-key`, value) } },
  })
  const credentials = CREDENTIALS.map((name) => {
    const [kind = '', shape] = name.split('-')
    const value = canaries.makeSent(CREDENTIAL[kind] ?? '', shape as Shape)
    return [name, credential(name, value, `${canaries.makeSent('a prefix of a credential', 'words')} `)]
  })
  const unusable = `${make('a credential that no header can be', 'hex')}\u0001${make('a credential that no header can be', 'words')}`
  put(
    'credentials.json',
    Object.fromEntries([...credentials, [UNUSABLE, credential(`file-${UNUSABLE}`, unusable, '')]]),
  )

  const given = canaries.makeSent('a credential from a function', 'base64url')
  const failure = make('an error of a function that gives credentials', 'words')
  put(
    'redrive.config.mjs',
    `import credentials from './credentials.json' with { type: 'json' }
    const origins = ['${target}']
    export default {
      credentials: {
        ...credentials,
        ${GIVEN}: { origins, tenants: '*', headers: () => ({ 'x-acme-key': '${given}' }) },
        ${FAILING}: { origins, tenants: '*', headers: () => { throw new Error('${failure}') } },
      },
    }`,
  )

  const KEYS: Readonly<Record<(typeof SIGNINGS)[number], Setting>> = {
    env: 'a signing key from a variable',
    file: 'a signing key from a file',
    exec: 'a signing key from a command',
  }
  const signing = SIGNINGS.map((name) => {
    const bytes = randomBytes(KEY_BYTES)
    const key = canaries.keep(KEYS[name], `whsec_${bytes.toString('base64')}`, [
      bytes.toString('base64'),
      bytes.toString('hex'),
    ])
    return [name, { keys: [{ from: from(`${name}-signing`, key) }], tenants: '*' }]
  })
  const none = canaries.keep('a signing key that is none', `whsec_${randomBytes(12).toString('base64')}`)
  put(
    'signing.json',
    Object.fromEntries([...signing, [UNUSABLE, { keys: [{ from: from('file-none', none) }], tenants: '*' }]]),
  )
  return { folder, place: { cwd: folder, env }, tokens, tenantToken }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
