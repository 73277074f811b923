/** Bytes that have changed where a task is stored, and that are still well-formed: what is not what was stored is not sent (S20). */

import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { NewTask, TaskStore } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { durableObjectStore } from '../../js/stores/durable-object.ts'
import { recordOf } from '../../js/stores/engine/parts.ts'
import { isWhole, isWholeBody, sumsOf } from '../../js/stores/engine/sums.ts'
import { done } from '../../js/stores/indexeddb/transact.ts'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { edit as editIdb } from './indexeddb/setup.ts'
import { objectStorage } from './rows/object-storage.ts'
import { heard, NO_GATES } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'
import { taskOf } from './sqlite/words.ts'

const LARGE = 6_000
const bodyOf = (size: number): Uint8Array => new TextEncoder().encode(`body-marker ${'x'.repeat(size)}`)
const task = (n: number, size = 20) =>
  taskOf(n, {
    body: bodyOf(size),
    targetUrl: 'https://api.test/url-marker?amount=1',
    headers: { 'content-type': 'text/plain', accept: 'header-marker' },
    idempotencyKey: `key-marker-${n}`,
  })

/** Delivers what is in the store; gives the tasks that came to the server, and what was said. */
async function deliver(store: TaskStore, clock: FakeClock) {
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, principal: null, store, ...NO_GATES })
  const events = heard(queue, clock)
  for (let i = 0; i < 3; i++) server.reply(200)
  await queue.ready
  await clock.advance(60_000)
  return { sent: server.requests.length, events, queue }
}

/** Flips the lowest bit of the last letter of `marker` in the file; `which`: of its first occurrence, or of all. */
function flip(path: string, marker: string): void {
  const bytes = readFileSync(path)
  let at = bytes.indexOf(marker)
  expect(at).toBeGreaterThan(0)
  for (; at >= 0; at = bytes.indexOf(marker, at + 1)) {
    const last = at + marker.length - 1
    bytes[last] = (bytes[last] ?? 0) ^ 1
  }
  writeFileSync(path, bytes)
}

test.for(['url-marker', 'header-marker', 'key-marker-1'])(
  'S20 a SQLite file with a changed %s: unreadable, never sent, the others are',
  async (marker) => {
    const path = freshPath()
    const clock = fakeClock()
    const first = sqliteStore({ path, clock })
    await first.enqueue([task(1), taskOf(2, { body: bodyOf(1) })])
    await first.close()
    flip(path, marker)
    const { sent, queue, events } = await deliver(sqliteStore({ path, clock }), clock)
    expect(sent).toBe(1)
    expect(queue.stats()).toMatchObject({ depth: 0, unreadable: 1 })
    expect(events.of('degraded').map(({ code }) => code)).toContain('unreadable_record')
  },
)

test.for([20, LARGE])(
  'S20 a SQLite file with a changed body of %i bytes: a dead letter, and it is said',
  async (size) => {
    const path = freshPath()
    const clock = fakeClock()
    const first = sqliteStore({ path, clock })
    await first.enqueue([task(1, size)])
    await first.close()
    flip(path, 'body-marker')
    const { sent, queue, events } = await deliver(sqliteStore({ path, clock }), clock)
    expect(sent).toBe(0)
    expect(events.of('exhausted')).toMatchObject([{ reason: 'body_missing' }])
    expect(events.of('degraded').map(({ code }) => code)).toEqual(['unreadable_record'])
    expect(await queue.deadLetters.list()).toMatchObject({ tasks: [{ taskId: taskOf(1).taskId }] })
  },
)

test.for([20, LARGE])("S20 an object's storage with a changed body of %i bytes: it is not given", async (size) => {
  const { storage, database } = objectStorage()
  const store = durableObjectStore({ storage })
  await store.enqueue([task(1, size), task(2, size)])
  database.exec(
    "UPDATE bodies SET bytes = CAST(replace(CAST(bytes AS TEXT), 'marker', 'harker') AS BLOB) WHERE task = 1",
  )
  expect(await store.body(taskOf(1).taskId)).toBeUndefined()
  expect(await store.body(taskOf(2).taskId)).toEqual(bodyOf(size))
  database.exec("UPDATE tasks SET targetUrl = replace(targetUrl, 'amount=1', 'amount=9') WHERE seq = 2")
  expect(await store.get(taskOf(2).taskId)).toBeUndefined()
})

test.for([20, LARGE])("S20 a browser's database with a changed body of %i bytes: it is not given", async (size) => {
  const name = `changed-${size}`
  const clock = fakeClock()
  const store = indexedDbStore({ name, clock })
  onTestFinished(() => store.close())
  await store.enqueue([task(1, size), task(2, size), task(3, size)])
  await editIdb(name, async (tx) => {
    const tasks = tx.objectStore('tasks')
    const row = await done(tasks.get(taskOf(1).taskId))
    const changed = bodyOf(size).fill(0x58, 3, 4)
    if (row.body) tasks.put({ ...row, body: changed })
    else tx.objectStore('bodies').put(changed, taskOf(1).taskId)
    tasks.put({ ...(await done(tasks.get(taskOf(2).taskId))), targetUrl: 'https://api.test/url-marker?amount=9' })
  })
  expect(await store.body(taskOf(1).taskId)).toBeUndefined()
  expect(await store.get(taskOf(2).taskId)).toBeUndefined()
  expect(await store.get(taskOf(3).taskId)).toBeDefined()
  expect(await store.body(taskOf(3).taskId)).toEqual(bodyOf(size))
})

test('S20 a task of a version that kept no sums is sent as before', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const first = sqliteStore({ path, clock })
  await first.enqueue([task(1)])
  await first.close()
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path)
  database.exec(
    `DROP TABLE shares; ALTER TABLE state DROP COLUMN limited; ALTER TABLE lanes DROP COLUMN tat; ALTER TABLE lanes DROP COLUMN tokenAt; DROP TABLE pauses; DROP TABLE registry; ALTER TABLE state DROP COLUMN line;
    ALTER TABLE state DROP COLUMN pauses; ALTER TABLE state DROP COLUMN registry`,
  )
  database.exec(
    `ALTER TABLE tasks DROP COLUMN tells; ALTER TABLE tasks DROP COLUMN bodySum; ALTER TABLE tasks DROP COLUMN requestSum;
    DROP INDEX tasks_own; DROP INDEX tasks_dead; DROP INDEX tasks_ended_own; DROP INDEX tasks_keys;
    CREATE INDEX tasks_keys ON tasks (idempotencyKey, principal) WHERE idempotencyKey IS NOT NULL AND status <> 'CANCELLED';
    CREATE INDEX tasks_by_status ON tasks (status, id);
    PRAGMA user_version = 3`,
  )
  database.close()
  const { sent, queue } = await deliver(sqliteStore({ path, clock }), clock)
  expect(sent).toBe(1)
  expect(queue.stats()).toMatchObject({ depth: 0 })
})

test('S20 where an index leads to the row of another task, a task still gets its own body', async () => {
  const path = freshPath()
  const clock = fakeClock()
  const first = sqliteStore({ path, clock })
  await first.enqueue([1, 2, 3, 4].map((n) => task(n, n)))
  // too large to be looked at as a whole when it is opened
  await first.enqueue([taskOf(5, { body: new Uint8Array(5 * 2 ** 20) })])
  await first.close()
  const bytes = readFileSync(path)
  // an entry of the index is the id, and then the number of the row
  const entry = Buffer.from([...Buffer.from(taskOf(3).taskId), 3])
  const at = bytes.indexOf(entry)
  expect(at).toBeGreaterThan(0)
  bytes[at + entry.length - 1] = 4
  writeFileSync(path, bytes)
  const store = sqliteStore({ path, clock })
  onTestFinished(() => store.close())
  expect(await store.body(taskOf(3).taskId)).toEqual(bodyOf(3))
  expect(await store.body(taskOf(4).taskId)).toEqual(bodyOf(4))
})

test('S20 a sum sees each change of one byte, and of one letter of a request', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (body, at, by) => {
        const sums = sumsOf(taskOf(1, { body }))
        expect(isWholeBody(body, sums.bodySum)).toBe(true)
        const other = Uint8Array.from(body)
        const i = at % body.length
        other[i] = (body[i] ?? 0) ^ by
        expect(isWholeBody(other, sums.bodySum)).toBe(false)
      },
    ),
  )
  const one = { ...taskOf(1), ...sumsOf(taskOf(1)), status: 'PENDING' as const }
  const texts = (given: Partial<NewTask> = {}) => {
    const all = { ...one, ...given }
    return () => [JSON.stringify(all.headers), recordOf(all)] as const
  }
  expect(isWhole(one, texts())).toBe(true)
  for (const name of ['taskId', 'method', 'targetUrl', 'idempotencyKey', 'fingerprint'] as const) {
    expect(isWhole({ ...one, [name]: `${one[name]}x` }, texts())).toBe(false)
  }
  expect(isWhole({ ...one, orderKey: 'a' }, texts())).toBe(false)
  expect(isWhole({ ...one, bodySum: 1 }, texts())).toBe(false)
  for (const given of [
    { headers: {} },
    { withheldHeaders: ['authorization'] },
    { requestInit: { credentials: 'omit' } },
    { policy: { ...one.policy, maxAttempts: 1 } },
    { idempotent: true },
    { meta: { order: 17 } },
    { tags: ['order'] },
  ])
    expect(isWhole(one, texts(given))).toBe(false)
})
