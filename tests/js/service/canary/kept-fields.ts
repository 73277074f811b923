/** Values that the service keeps or shows, each where it is documented and nowhere else. */

import { randomBytes } from 'node:crypto'
import { SHAPES } from '../../canaries.ts'
import { type Field, NAMES, ofEach, TOKENS } from './field.ts'
import type { Sink } from './sinks.ts'
import { INLINE_BYTES, LATER_MS, QUICK, TASKS } from './world.ts'

/** More than stays with a task. */
const long = (secret: string): string => `${secret} ${'.'.repeat(INLINE_BYTES)}`

const METHOD = 'method'
const TASK_SINKS = ['the store', 'events', 'tasks', 'export', 'command line'] as const satisfies readonly Sink[]

export const keptFields: readonly Field[] = [
  {
    name: 'body',
    kept: ['the store', 'the store of bodies', 'bodies'],
    why: 'until the task has succeeded or was cancelled; a token of the scope `admin` may read it',
    put: ofEach(SHAPES, async (world, make) => {
      await world.everyWay((n) => ({ json: undefined, body: n % 2 === 0 ? make() : long(make()) }))
      const bytes = Buffer.from(make()).toString('base64')
      await world.hand({ json: undefined, body: bytes, bodyEncoding: 'base64', delayMs: LATER_MS })
    }),
  },
  {
    name: 'json',
    kept: ['the store', 'the store of bodies', 'bodies'],
    why: 'likewise',
    put: ofEach(SHAPES, async (world, make) => {
      await world.everyWay((n) => ({ json: { password: n % 2 === 0 ? make() : long(make()) } }))
    }),
  },
  {
    name: 'an uploaded body',
    kept: ['the store of bodies', 'bodies'],
    why: 'until it expires (`--upload-ttl`)',
    put: ofEach(SHAPES, async (world, make) => {
      const bodyRef = await world.upload(make())
      await world.everyWay(() => ({ json: undefined, bodyRef }))
    }),
  },
  {
    name: 'idempotencyKey',
    kept: [...TASK_SINKS, 'receipts', 'callbacks'],
    why: 'and sent with each attempt',
    put: ofEach(TOKENS, async (world, make) => {
      await world.everyWay(() => ({ idempotencyKey: make() }))
      const idempotencyKey = make()
      const task = { targetUrl: `${world.servers.target}/ok`, idempotencyKey }
      await world.hand(task)
      await world.refused('idempotency-conflict', { ...task, json: 'another' })
    }),
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
    put: ofEach(SHAPES, (world, make) => world.everyWay(() => ({ orderKey: make() }))),
  },
  {
    name: 'tags',
    kept: [...TASK_SINKS, 'callbacks'],
    put: ofEach(NAMES, (world, make) => world.everyWay((n) => ({ tags: n === 0 ? { [make()]: 't' } : { t: make() } }))),
  },
  {
    name: METHOD,
    kept: [...TASK_SINKS, 'callbacks', 'explain'],
    async put(world) {
      const make = () => world.canaries.keep(METHOD, `X-${randomBytes(12).toString('hex').toUpperCase()}`)
      await world.everyWay(() => ({ method: make(), idempotent: true }))
    },
  },
  {
    name: 'headers: a name that carries no credentials',
    kept: TASK_SINKS,
    why: 'and sent with each attempt',
    put: (world, make) => world.everyWay(() => ({ headers: { [`x-${make('words')}`]: '1' } })),
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
    put: (world, make) => world.everyWay(() => ({ callback: { url: `${world.servers.hooks}/${make('words')}` } })),
  },
  {
    name: 'Redrive-Tenant',
    kept: [...TASK_SINKS, 'log', 'callbacks', 'stats', 'pauses', 'operations'],
    why: 'the name of a tenant is in each line of the log that is about it',
    put: ofEach(SHAPES, async (world, make) => {
      const headers = { 'redrive-tenant': make() }
      await world.everyWay(() => ({}), headers)
      await world.ask('/pauses', { method: 'POST', json: { origin: 'https://paused.test' }, headers })
      await world.ask('/dead-letters/redrive', { method: 'POST', json: { filter: {} }, headers })
      for (const path of [TASKS, '/dead-letters', '/stats']) await world.ask(path, { headers })
    }),
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
    put: ofEach(SHAPES, async (world, make) => {
      await world.ask('/pauses', { method: 'POST', json: { tenant: make() } })
      await world.ask('/flush', { method: 'POST', json: { tenant: make() } })
    }),
  },
  {
    name: 'policyId of a policy',
    kept: [...TASK_SINKS, 'metrics', 'policies', 'explain'],
    why: 'metrics are labelled by policy',
    put: ofEach(NAMES, async (world, make) => {
      const policyId = make()
      const { status } = await world.ask('/retry-policies', { method: 'POST', json: { policyId, ...QUICK } })
      if (status !== 201) throw new Error(`a policy was refused: ${status}`)
      await world.everyWay(() => ({ policyId, policy: undefined }))
    }),
  },
  {
    name: 'policyId: one that there is none of',
    kept: ['problems'],
    why: 'so that its sender sees what was misspelt',
    put: ofEach(NAMES, (world, make) => world.refused('policy-unknown', { policyId: make() })),
  },
  {
    name: 'the id of a policy, an operation or a pause in a path',
    kept: ['problems'],
    why: 'likewise',
    put: ofEach(NAMES, async (world, make) => {
      await world.denied('not-found', `/retry-policies/${make()}`)
      await world.denied('not-found', `/operations/${make()}`)
      await world.denied('not-found', `/pauses/${make()}`, { method: 'DELETE' })
    }),
  },
  {
    name: 'policyId in the filter of an operation',
    kept: ['the store'],
    why: 'for a day after the operation has ended',
    put: ofEach(NAMES, async (world, make) => {
      const json = { filter: { policyId: make() } }
      await world.begun('/dead-letters/redrive', json)
    }),
  },
]
