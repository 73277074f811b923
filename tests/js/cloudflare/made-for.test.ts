/** An object has the tasks of one user for one origin, and refuses all others: its credentials are for that origin. */

import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { laneName } from '../../../js/api/store.ts'
import { MadeFor } from '../../../js/cloudflare/made-for.ts'
import { objectName } from '../../../js/cloudflare/namespace.ts'
import type { ObjectStorage } from '../../../js/stores/durable-object.ts'

const API = 'https://api.test'

/** The SQL of an object's storage; what outlives the object is in it. */
function storage(): ObjectStorage {
  const db = new DatabaseSync(':memory:')
  const exec = (text: string, ...values: never[]) => {
    const rows = db.prepare(text).all(...values)
    return { toArray: () => rows, rowsWritten: 0 }
  }
  return { sql: { exec }, transactionSync: (work) => work(), sync: async () => {} }
}

const aim = (principal: string | null, origin = API) => ({
  principal,
  targetUrl: `${origin}/orders`,
  lane: laneName(principal, origin),
})

const others = [
  ['another user', aim('ben')],
  ['no user', aim(null)],
  ['another origin', aim('ann', 'https://evil.test')],
  ['another port', aim('ann', `${API}:8443`)],
  ['a target that is not its lane’s', { ...aim('ann'), targetUrl: 'https://evil.test/orders' }],
  ['a lane that is not its target’s', { ...aim('ann'), lane: laneName('ann', 'https://evil.test') }],
  ['a lane of another user', { ...aim('ann'), lane: laneName('ben', API) }],
  ['a target that is no URL', { ...aim('ann'), targetUrl: 'orders' }],
  ['a target that is no web address', { ...aim('ann'), targetUrl: 'data:text/plain,x' }],
] as const

test.each(others)('S16 an object with a name takes nothing of %s', (_, task) => {
  const made = new MadeFor(objectName('ann', API, 3), storage())
  expect(made.takes(aim('ann'))).toBeUndefined()
  expect(made.takes(task)).toMatch(/^the object 'https:\/\/api\.test ann #3' has no tasks of/)
  expect(made.refuses(task)).toBeDefined()
})

test.each(others)('S16 nor does one without a name, once it has its first task: %s', (_, task) => {
  for (const name of [undefined, 'orders']) {
    const made = new MadeFor(name, storage())
    expect(made.owner).toBeUndefined()
    expect(made.takes(aim('ann'))).toBeUndefined()
    expect(made.takes(task)).toBeDefined()
    expect(made.owner).toEqual({ principal: 'ann', origin: API, shard: undefined })
  }
})

test('S16 it is for the same one after it has begun anew', () => {
  const disk = storage()
  new MadeFor(undefined, disk).takes(aim('ann'))
  const again = new MadeFor(undefined, disk)
  expect(again.refuses(aim('ann'))).toBeUndefined()
  expect(again.refuses(aim('ben'))).toBeDefined()
})

test('S16 a first task whose parts disagree gives the object no owner', () => {
  const made = new MadeFor(undefined, storage())
  expect(made.takes({ ...aim('ann'), lane: laneName('ben', API) })).toBeDefined()
  expect(made.owner).toBeUndefined()
})
