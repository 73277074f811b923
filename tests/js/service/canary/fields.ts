/**
 * Every field of the service that takes text: how a secret is put into it, and where it may be found afterwards. What is found where is documented in
 * docs/service-security.md, whose table is made of this one; a place that is not named here may not have it, and one that is named has it.
 */

import { randomBytes } from 'node:crypto'
import { SHAPES, type Shape } from '../../canaries.ts'
import { DENIED, LOOKED_INTO } from '../../canary-slots.ts'
import { ANSWERS } from './servers.ts'
import { CREDENTIALS, FAILING, GIVEN, SETTINGS, SIGNINGS, UNUSABLE } from './settings.ts'
import type { Sink } from './sinks.ts'
import { INLINE_BYTES, type Kinds, LATER_MS, QUICK, TASKS, type World } from './world.ts'

/** Draws a secret of the field. */
type Make = (shape?: Shape) => string

export interface Field {
  readonly name: string
  /** Where it may be, and is. @default nowhere */
  readonly kept?: readonly Sink[]
  /** Likewise, in the words of the documentation; of fields that are kept. */
  readonly why?: string
  /** Absent: it is there from the start. */
  put?(world: World, make: Make): Promise<void>
}

/** Shapes without blanks, and those that fit into 64 characters. */
const TOKENS: readonly Shape[] = ['base64url', 'hex', 'jwt', 'words']
const NAMES: readonly Shape[] = ['base64url', 'hex', 'words']

const SECRET_PARAMETERS = [
  'token',
  'sig',
  'access_token',
  'X-Amz-Signature',
  'key',
  'password',
  'code',
  'api_key',
  'client_secret',
]

const pathsOf = (secret: string): readonly string[] => [
  `/bot123456:${secret}/sendMessage`,
  `/api/webhooks/123456789012345678/${secret}`,
  `/services/T00000000/B00000000/${secret}`,
  `/cart;jsessionid=${secret}`,
  `/d/ghp_${secret}`,
]

/** More than stays with a task. */
const long = (secret: string): string => `${secret} ${'.'.repeat(INLINE_BYTES)}`

/** The same rules for each URL that a task may have. */
const urlFields = (field: 'targetUrl' | 'callback.url'): readonly Field[] => {
  const withUrl = (url: string) => (field === 'targetUrl' ? { targetUrl: url } : { callback: { url } })
  const base = ({ servers }: World) => (field === 'targetUrl' ? `${servers.target}/ok` : servers.hooks)
  return [
    {
      name: `${field}: a parameter that is named as a secret`,
      async put(world, make) {
        for (const [i, name] of SECRET_PARAMETERS.entries()) {
          const secret = encodeURIComponent(make(SHAPES[i % SHAPES.length]))
          await world.refused('url-secret', withUrl(`${base(world)}?page=2&${name}=${secret}`))
        }
      },
    },
    {
      name: `${field}: a parameter whose value looks like a secret`,
      async put(world, make) {
        for (const before of ['', 'ghp_', 'sk_live_']) {
          const secret = before === '' ? make('jwt') : `${before}${make('hex')}`
          await world.refused('url-secret', withUrl(`${base(world)}?q=${secret}`))
        }
      },
    },
    {
      name: `${field}: a secret in the path`,
      async put(world, make) {
        for (const path of pathsOf(make('hex'))) await world.refused('url-secret', withUrl(`${base(world)}${path}`))
      },
    },
    {
      name: `${field}: a user and a password`,
      async put(world, make) {
        for (const shape of TOKENS) {
          const [scheme, rest] = base(world).split('://')
          await world.refused('invalid', withUrl(`${scheme}://kim:${encodeURIComponent(make(shape))}@${rest}`))
        }
      },
    },
    {
      name: `${field}: a fragment`,
      async put(world, make) {
        for (const shape of SHAPES)
          await world.hand(withUrl(`${base(world)}/x#id_token=${encodeURIComponent(make(shape))}`))
      },
    },
    {
      name: `${field}: no URL, or one of another scheme`,
      async put(world, make) {
        for (const shape of TOKENS) {
          const secret = make(shape)
          for (const url of [secret, `ftp://files.test/${secret}`, `http://${'x'.repeat(8_192)}/${secret}`]) {
            await world.refused('invalid', withUrl(url))
          }
        }
      },
    },
    {
      name: `${field}: a host that is no target`,
      async put(world, make) {
        for (const host of ['10.1.2.3', 'elsewhere.test', 'metadata']) {
          await world.refused('target-refused', withUrl(`https://${host}/${make('words')}`))
        }
      },
    },
  ]
}

const refusedFields: readonly Field[] = [
  ...urlFields('targetUrl'),
  ...urlFields('callback.url'),
  {
    name: 'headers: a name that carries credentials',
    async put(world, make) {
      for (const name of DENIED) await world.refused('header-refused', { headers: { [name]: make() } })
    },
  },
  {
    name: 'headers: a value that looks like a credential',
    async put(world, make) {
      for (const [name, shape] of [
        ...LOOKED_INTO,
        ['x-acme', 'jwt'],
        ['x-acme', 'bearer'],
        ['x-acme', 'basic'],
      ] as const) {
        await world.refused('header-refused', { headers: { [name]: make(shape) } })
      }
    },
  },
  {
    name: 'headers: what no header can be',
    async put(world, make) {
      for (const shape of TOKENS) {
        await world.refused('invalid', { headers: { 'x-note': `${make(shape)}\u0001` } })
        await world.refused('invalid', { headers: { 'x note': make(shape) } })
      }
    },
  },
  {
    name: 'credential: a name that there is none of',
    async put(world, make) {
      for (const shape of NAMES) await world.refused('credential-refused', { credential: make(shape) })
    },
  },
  {
    name: 'signing: a name that there is none of',
    async put(world, make) {
      for (const shape of NAMES) await world.refused('credential-refused', { signing: make(shape) })
    },
  },
  {
    name: 'callback.signing: a name that there is none of',
    async put(world, make) {
      for (const shape of NAMES) {
        await world.refused('credential-refused', { callback: { url: world.servers.hooks, signing: make(shape) } })
      }
    },
  },
  {
    name: 'fields of a task: values of the wrong type or form',
    async put(world, make) {
      const wrong = (secret: string): readonly object[] => [
        ...[{ targetUrl: [secret] }, { method: secret }, { headers: secret }, { headers: { accept: [secret] } }],
        ...[
          { json: undefined, body: secret, bodyEncoding: secret },
          { json: undefined, body: [secret] },
          { json: undefined, bodyRef: secret },
        ],
        ...[{ json: undefined, body: `${secret}!`, bodyEncoding: 'base64' }, { body: secret }],
        ...[{ idempotencyKey: `${secret} ` }, { policyId: [secret] }, { policy: secret }],
        ...[{ policy: { strategy: secret } }, { policy: { maxAttempts: secret } }, { policy: { delaysMs: [secret] } }],
        ...[
          { deliverAt: secret },
          { delayMs: secret },
          { expiresAt: secret },
          { priority: secret },
          { orderKey: [secret] },
        ],
        ...[{ idempotent: secret }, { credential: `${secret}/` }, { signing: `${secret}/` }, { tags: secret }],
        ...[{ tags: { a: [secret] } }, { tags: { a: secret.padEnd(80, 'x') } }, { callback: secret }],
        ...[{ callback: { url: world.servers.hooks, on: [secret] } }, { callback: { url: [secret] } }],
      ]
      for (const shape of SHAPES) for (const task of wrong(make(shape))) await world.refused('invalid', task)
    },
  },
  {
    name: 'a body that is no JSON',
    async put(world, make) {
      for (const shape of SHAPES) {
        const secret = make(shape)
        for (const body of [secret, `{"json":"${secret}"`, `{"json":"${secret}\u0001"}`, `{"json":${secret}}`]) {
          await world.denied('bad-request', TASKS, { method: 'POST', body })
          const lines = { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' } }
          await world.ask(`${TASKS}/batch`, lines)
        }
        for (const body of [`{"json":{"__proto__":"${secret}"}}`, `{"json":["${secret}",1e400]}`, `["${secret}"]`]) {
          const { status } = await world.ask(TASKS, { method: 'POST', body })
          if (status < 400) throw new Error(`${status} for ${body}`)
        }
      }
    },
  },
  {
    name: 'Idempotency-Key: what no key can be, or another than the field',
    async put(world, make) {
      const json = { targetUrl: `${world.servers.target}/ok` }
      for (const shape of ['basic', 'bearer'] as const) {
        const headers = { 'idempotency-key': make(shape) }
        await world.denied('bad-request', TASKS, { method: 'POST', json, headers })
      }
      const long = `${make('hex')}${'x'.repeat(207)}`
      const headers = { 'idempotency-key': long }
      await world.ask(`${TASKS}/batch`, { method: 'POST', json: { tasks: [json] }, headers })
      for (const shape of TOKENS) {
        const task = { targetUrl: `${world.servers.target}/ok`, idempotencyKey: make(shape) }
        await world.denied('key-mismatch', TASKS, {
          method: 'POST',
          json: task,
          headers: { 'idempotency-key': make(shape) },
        })
      }
    },
  },
]

const requestFields: readonly Field[] = [
  {
    name: 'Authorization: what is no token',
    async put(world, make) {
      for (const shape of SHAPES) {
        const secret = make(shape)
        for (const authorization of [secret, `Bearer ${secret}`, `Basic ${secret}`, `Bearer rd_${secret}`]) {
          await world.denied('unauthorized', TASKS, { headers: { authorization } })
          await world.denied('unauthorized', '/events', { headers: { authorization } })
        }
      }
    },
  },
  {
    name: 'Redrive-Tenant: one that the token may not act for',
    async put(world, make) {
      const authorization = `Bearer ${world.tenantToken}`
      for (const shape of SHAPES) {
        await world.denied('forbidden', TASKS, { headers: { authorization, 'redrive-tenant': make(shape) } })
      }
    },
  },
  {
    name: 'Last-Event-ID',
    async put(world, make) {
      for (const shape of SHAPES) await world.listenFrom(make(shape))
    },
  },
  {
    name: 'headers of a request to the service',
    async put(world, make) {
      const names = ['cookie', 'proxy-authorization', 'x-api-key', 'user-agent', 'referer', 'x-request-id', 'forwarded']
      const more = [
        'traceparent',
        'tracestate',
        'baggage',
        'accept',
        'if-none-match',
        'prefer',
        'x-forwarded-for',
        'from',
      ]
      for (const name of [...names, ...more]) {
        await world.ask(TASKS, { headers: { [name]: make() } })
        await world.ask(TASKS, {
          method: 'POST',
          json: { targetUrl: `${world.servers.target}/ok` },
          headers: { [name]: make() },
        })
      }
      for (const shape of SHAPES) {
        await world.denied('wrong-host', TASKS, { headers: { host: `${make(shape).replaceAll(/[^\w.-]/g, '')}.test` } })
        await world.denied('forbidden', TASKS, { headers: { origin: `https://${make(shape)}.test` } })
        const type = `text/${make(shape)}`
        await world.denied('unsupported-media-type', TASKS, {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': type },
        })
        await world.denied('changed-meanwhile', '/retry-policies/none', {
          method: 'PUT',
          json: {},
          headers: { 'if-match': `"${make(shape)}"` },
        })
      }
    },
  },
  {
    name: 'the path and the query of a request',
    async put(world, make) {
      for (const shape of TOKENS) {
        const secret = make(shape)
        for (const path of [
          `/${secret}`,
          `${TASKS}/${secret}`,
          `${TASKS}/${secret}/body`,
          `/dead-letters/${secret}/redrive`,
        ]) {
          await world.denied('not-found', path)
        }
        for (const name of ['status', 'origin', 'limit', 'cursor', 'order', 'createdAfter', 'reason', 'token']) {
          await world.denied('bad-request', `${TASKS}?${name}=${secret}`)
        }
        for (const name of ['policyId', 'policyId=x&policyId']) await world.ask(`${TASKS}?${name}=${secret}`)
        await world.denied('bad-request', `/events?types=${secret}`)
        await world.denied('bad-request', `/dead-letters/export?taskIds=${secret}`)
      }
    },
  },
  {
    name: 'fields of operators: values of the wrong type or form',
    async put(world, make) {
      for (const shape of SHAPES) {
        const secret = make(shape)
        const wrong: readonly (readonly [path: string, json: unknown])[] = [
          ...([
            ['/pauses', { origin: secret }],
            ['/pauses', { reason: [secret] }],
            ['/flush', { origin: secret }],
          ] as const),
          ...([
            ['/dead-letters/redrive', { filter: { origin: secret } }],
            ['/dead-letters/redrive', { filter: secret }],
          ] as const),
          ...([
            ['/dead-letters/purge', { filter: {}, confirm: secret }],
            ['/plan', { strategy: secret }],
          ] as const),
          ...([
            ['/retry-policies', { policyId: `${secret}/` }],
            ['/retry-policies', { policyId: 'x', maxAttempts: secret }],
          ] as const),
        ]
        for (const [path, json] of wrong) await world.denied('invalid', path, { method: 'POST', json })
      }
    },
  },
]

const TASK_SINKS = ['the store', 'events', 'tasks', 'export', 'command line'] as const satisfies readonly Sink[]

const keptFields: readonly Field[] = [
  {
    name: 'body',
    kept: ['the store', 'the store of bodies', 'bodies'],
    why: 'until the task has succeeded or was cancelled; a token of the scope `admin` may read it',
    async put(world, make) {
      for (const shape of SHAPES) {
        await world.everyWay((n) => ({ json: undefined, body: n % 2 === 0 ? make(shape) : long(make(shape)) }))
        const bytes = Buffer.from(make(shape)).toString('base64')
        await world.hand({ json: undefined, body: bytes, bodyEncoding: 'base64', delayMs: LATER_MS })
      }
    },
  },
  {
    name: 'json',
    kept: ['the store', 'the store of bodies', 'bodies'],
    why: 'likewise',
    async put(world, make) {
      for (const shape of SHAPES) {
        await world.everyWay((n) => ({ json: { password: n % 2 === 0 ? make(shape) : long(make(shape)) } }))
      }
    },
  },
  {
    name: 'an uploaded body',
    kept: ['the store of bodies', 'bodies'],
    why: 'until it expires (`--upload-ttl`)',
    async put(world, make) {
      for (const shape of SHAPES) {
        const bodyRef = await world.upload(make(shape))
        await world.everyWay(() => ({ json: undefined, bodyRef }))
      }
    },
  },
  {
    name: 'idempotencyKey',
    kept: [...TASK_SINKS, 'receipts', 'callbacks'],
    why: 'and sent with each attempt',
    async put(world, make) {
      for (const shape of TOKENS) {
        await world.everyWay(() => ({ idempotencyKey: make(shape) }))
        const idempotencyKey = make(shape)
        const task = { targetUrl: `${world.servers.target}/ok`, idempotencyKey }
        await world.hand(task)
        await world.refused('idempotency-conflict', { ...task, json: 'another' })
      }
    },
  },
  {
    name: 'Idempotency-Key',
    kept: [...TASK_SINKS, 'receipts', 'callbacks'],
    why: 'likewise',
    async put(world, make) {
      for (const shape of TOKENS) {
        for (let n = 0; n < 2; n++) {
          const callback = { url: `${world.servers.hooks}/key-${shape}-${n}` }
          const targetUrl = `${world.servers.target}/${n === 0 ? 'ok' : 'refused'}`
          await world.hand({ targetUrl, callback }, { 'idempotency-key': make(shape) })
        }
        const tasks = [{ targetUrl: `${world.servers.target}/ok` }]
        await world.ask(`${TASKS}/batch`, {
          method: 'POST',
          json: { tasks },
          headers: { 'idempotency-key': make(shape) },
        })
      }
    },
  },
  {
    name: 'orderKey',
    kept: TASK_SINKS,
    async put(world, make) {
      for (const shape of SHAPES) await world.everyWay(() => ({ orderKey: make(shape) }))
    },
  },
  {
    name: 'tags',
    kept: [...TASK_SINKS, 'callbacks'],
    async put(world, make) {
      for (const shape of NAMES) await world.everyWay(() => ({ tags: { t: make(shape) } }))
    },
  },
  {
    name: 'headers: a value that looks like no credential',
    kept: TASK_SINKS,
    why: 'and sent with each attempt',
    async put(world, make) {
      for (const name of ['x-correlation-id', 'accept-language', 'x-acme']) {
        await world.everyWay(() => ({ headers: { [name]: make('words') } }))
      }
    },
  },
  {
    name: 'targetUrl: a parameter that looks like no secret',
    kept: [...TASK_SINKS, 'callbacks'],
    why: 'and sent with each attempt',
    async put(world, make) {
      await world.everyWay((n) => ({
        targetUrl: `${world.servers.target}/${n === 2 ? 'refused' : 'ok'}?q=${make('words')}`,
      }))
    },
  },
  {
    name: 'targetUrl: a path that looks like no secret',
    kept: [...TASK_SINKS, 'callbacks', 'explain'],
    why: 'likewise',
    async put(world, make) {
      await world.everyWay((n) => ({
        targetUrl: `${world.servers.target}/${n === 2 ? 'refused' : 'ok'}/${make('words')}`,
      }))
    },
  },
  {
    name: 'callback.url: a path that looks like no secret',
    kept: [...TASK_SINKS, 'callbacks', 'explain'],
    why: 'and asked for, to tell an end',
    async put(world, make) {
      await world.everyWay(() => ({ callback: { url: `${world.servers.hooks}/${make('words')}` } }))
    },
  },
  {
    name: 'Redrive-Tenant',
    kept: [...TASK_SINKS, 'log', 'callbacks', 'stats', 'pauses', 'operations'],
    why: 'the name of a tenant is in each line of the log that is about it',
    async put(world, make) {
      for (const shape of SHAPES) {
        const headers = { 'redrive-tenant': make(shape) }
        await world.everyWay(() => ({}), headers)
        await world.ask('/pauses', { method: 'POST', json: { origin: 'https://paused.test' }, headers })
        await world.ask('/dead-letters/redrive', { method: 'POST', json: { filter: {} }, headers })
        for (const path of [TASKS, '/dead-letters', '/stats']) await world.ask(path, { headers })
      }
    },
  },
  {
    name: 'the reason of a pause',
    kept: ['the store', 'pauses'],
    async put(world, make) {
      for (const shape of SHAPES) {
        const json = { origin: `https://${shape}.test`, reason: make(shape) }
        await world.ask('/pauses', { method: 'POST', json })
      }
    },
  },
  {
    name: 'the tenant of a pause',
    kept: ['the store', 'pauses'],
    async put(world, make) {
      for (const shape of SHAPES) {
        await world.ask('/pauses', { method: 'POST', json: { tenant: make(shape) } })
        await world.ask('/flush', { method: 'POST', json: { tenant: make(shape) } })
      }
    },
  },
  {
    name: 'policyId of a policy',
    kept: [...TASK_SINKS, 'metrics', 'policies', 'explain'],
    why: 'metrics are told by policy',
    async put(world, make) {
      for (const shape of NAMES) {
        const policyId = make(shape)
        const { status } = await world.ask('/retry-policies', { method: 'POST', json: { policyId, ...QUICK } })
        if (status !== 201) throw new Error(`a policy was refused: ${status}`)
        await world.everyWay(() => ({ policyId, policy: undefined }))
      }
    },
  },
  {
    name: 'policyId: one that there is none of',
    kept: ['problems'],
    why: 'so that its sender sees what was misspelt',
    async put(world, make) {
      for (const shape of NAMES) await world.refused('policy-unknown', { policyId: make(shape) })
    },
  },
  {
    name: 'the id of a policy, an operation or a pause in a path',
    kept: ['problems'],
    why: 'likewise',
    async put(world, make) {
      for (const shape of NAMES) {
        await world.denied('not-found', `/retry-policies/${make(shape)}`)
        await world.denied('not-found', `/operations/${make(shape)}`)
        await world.denied('not-found', `/pauses/${make(shape)}`, { method: 'DELETE' })
      }
    },
  },
  {
    name: 'policyId in the filter of an operation',
    kept: ['the store'],
    why: 'for a day after the operation has ended',
    async put(world, make) {
      for (const shape of NAMES) {
        const json = { filter: { policyId: make(shape) } }
        await world.begun('/dead-letters/redrive', json)
      }
    },
  },
]

/** What the settings refuse is said where people and machines read it. */
const WRONG_SETTINGS = 'settings: a secret in the place of where it is read, or in a file that cannot be read'
/** So much of a text is in messages of parsers. */
const QUOTED = 9
const wrongSettings: Field = {
  name: WRONG_SETTINGS,
  async put(world) {
    for (let n = 0; n < 2; n++) {
      const secret = randomBytes(24).toString('hex')
      world.canaries.keep(WRONG_SETTINGS, secret, [secret.slice(0, QUOTED), secret.slice(-QUOTED)])
      const keys = [{ hooks: { keys: [{ from: secret }] } }, { hooks: { keys: [secret] } }, { hooks: { keys: secret } }]
      const wrong = [...keys, { hooks: { keys: [{ from: 'env:A', secret }] } }, secret, [secret]]
      for (const content of wrong) await world.refusedReload('signing.json', JSON.stringify(content))
      for (const content of [`x${secret}`, `{"hooks":"${secret}"`, `{"hooks":x${secret}}`, `{"hooks":"${secret}"x}`]) {
        await world.refusedReload('signing.json', content)
      }
      await world.refusedReload('tokens.json', JSON.stringify([{ sha256: secret, scopes: ['admin'] }]))
      await world.refusedReload('tokens.json', `[{"token":"${secret}"}]`)
      await world.refusedReload('tokens.json', `["${secret}`)
    }
  },
}

/** Tasks that name what the settings have, to targets of every kind. */
export async function useSettings(world: World): Promise<void> {
  const { target, other, hooks } = world.servers
  for (const [i, credential] of CREDENTIALS.entries()) {
    for (const kind of ['ok', 'flaky', 'refused', 'hop', 'away', 'reset']) {
      const signing = SIGNINGS[i % SIGNINGS.length]
      const callback = { url: `${hooks}/named-${credential}-${kind}`, signing }
      await world.hand({ targetUrl: `${target}/${kind}/${credential}`, credential, signing, callback })
    }
    await world.refused('credential-refused', { targetUrl: `${other}/ok`, credential })
  }
  for (const credential of [GIVEN, FAILING, UNUSABLE]) {
    await world.hand({ targetUrl: `${target}/ok/${credential}`, credential })
  }
  await world.hand({ targetUrl: `${target}/ok/unusable`, signing: UNUSABLE })
  for (let n = 0; n < 3; n++) await world.hand({ targetUrl: `${world.servers.broken}/${n}` })
}

const FIELDS: readonly Field[] = [
  ...refusedFields,
  ...requestFields,
  ...keptFields,
  ...ANSWERS.map((name) => ({ name })),
  ...SETTINGS.map((name) => ({ name })),
  wrongSettings,
]

/** The fields of a service that stands on these stores. */
export function fieldsOf({ bodies }: Kinds): readonly Field[] {
  const isBucket = bodies === 'bucket'
  return [...FIELDS, uploadedType(isBucket), ...(isBucket ? [{ name: 'a secret of a bucket' }] : [])]
}

/** A bucket keeps types, a folder does not. */
const uploadedType = (isBucket: boolean): Field => ({
  name: 'the Content-Type of an uploaded body',
  ...(isBucket && { kept: ['the store of bodies'] }),
  async put(world, make) {
    for (const shape of NAMES) await world.upload('x', `text/${make(shape)}`)
  },
})
