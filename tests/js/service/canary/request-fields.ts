/** Parts of requests to the service that are no part of a task, and what operators send that is wrong. */

import { SHAPES } from '../../canaries.ts'
import { type Field, ofEach, TOKENS } from './field.ts'
import { TASKS } from './world.ts'

export const requestFields: readonly Field[] = [
  {
    name: 'Authorization: what is no token',
    put: ofEach(SHAPES, async (world, make) => {
      const secret = make()
      for (const authorization of [secret, `Bearer ${secret}`, `Basic ${secret}`, `Bearer rd_${secret}`]) {
        await world.denied('unauthorized', TASKS, { headers: { authorization } })
        await world.denied('unauthorized', '/events', { headers: { authorization } })
      }
    }),
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
    put: ofEach(SHAPES, (world, make) => world.listenFrom(make())),
  },
  {
    name: 'headers of a request to the service',
    async put(world, make) {
      const names = ['cookie', 'proxy-authorization', 'x-api-key', 'user-agent', 'referer', 'x-request-id', 'forwarded']
      const more = 'traceparent tracestate baggage accept if-none-match prefer x-forwarded-for from'.split(' ')
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
    put: ofEach(TOKENS, async (world, make) => {
      const secret = make()
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
      for (const name of ['policyId', 'policyId=x&policyId', 'idempotencyKey', 'tags'])
        await world.ask(`${TASKS}?${name}=${secret}`)
      await world.denied('bad-request', `/events?types=${secret}`)
      await world.denied('bad-request', `/dead-letters/export?taskIds=${secret}`)
    }),
  },
  {
    name: 'fields of operators: values of the wrong type or form',
    put: ofEach(SHAPES, async (world, make) => {
      const secret = make()
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
    }),
  },
]
