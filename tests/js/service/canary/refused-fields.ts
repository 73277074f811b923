/** Fields of a task that are refused for what is in them, so that nothing is kept. */

import { SHAPES } from '../../canaries.ts'
import { DENIED, LOOKED_INTO } from '../../canary-slots.ts'
import { type Field, NAMES, ofEach, TOKENS } from './field.ts'
import { urlFields } from './url-fields.ts'
import { TASKS } from './world.ts'

export const refusedFields: readonly Field[] = [
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
    put: ofEach(TOKENS, async (world, make) => {
      await world.refused('invalid', { headers: { 'x-note': `${make()}\u0001` } })
      await world.refused('invalid', { headers: { 'x note': make() } })
    }),
  },
  {
    name: 'credential: a name that there is none of',
    put: ofEach(NAMES, (world, make) => world.refused('credential-refused', { credential: make() })),
  },
  {
    name: 'signing: a name that there is none of',
    put: ofEach(NAMES, (world, make) => world.refused('credential-refused', { signing: make() })),
  },
  {
    name: 'callback.signing: a name that there is none of',
    put: ofEach(NAMES, async (world, make) => {
      await world.refused('credential-refused', { callback: { url: world.servers.hooks, signing: make() } })
    }),
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
    put: ofEach(SHAPES, async (world, make) => {
      const secret = make()
      for (const body of [secret, `{"json":"${secret}"`, `{"json":"${secret}\u0001"}`, `{"json":${secret}}`]) {
        await world.denied('bad-request', TASKS, { method: 'POST', body })
        const lines = { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' } }
        await world.ask(`${TASKS}/batch`, lines)
      }
      for (const body of [`{"json":{"__proto__":"${secret}"}}`, `{"json":["${secret}",1e400]}`, `["${secret}"]`]) {
        const { status } = await world.ask(TASKS, { method: 'POST', body })
        if (status < 400) throw new Error(`${status} for ${body}`)
      }
    }),
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
