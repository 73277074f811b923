/** Rows that other code has written, one by one: what is refused, what becomes of it, and what it does not stop. */

import type { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { RECORD_SCHEMA, type StoredTask, type TaskStore } from '../../js/api/store.ts'
import { RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { type FakeClock, fakeClock, scriptedServer } from '../../js/testing.ts'
import { withMethods, world } from './durable-setup.ts'
import { sumAnew, unlock } from './rows/sql.ts'
import { type Events, heard, NO_GATES, ORDERS } from './setup.ts'
import { edit, freshPath, openStore } from './sqlite/setup.ts'
import { claimOf, taskOf } from './sqlite/words.ts'

const EVIL = 'https://evil.test/orders'
const STEP = { owner: 'test', settle: [], renew: [] } as const
const VICTIM = taskOf(1).taskId

interface Story {
  readonly queue: RetryQueue
  readonly store: TaskStore
  readonly events: Events
  readonly sent: readonly { readonly url: string; readonly body: string | null }[]
}

/** Two tasks, of which the first is spoilt; then a queue that sends what it may. */
async function setup(spoil: (database: DatabaseSync) => void): Promise<Story> {
  const path = freshPath()
  const clock = fakeClock()
  const store = openStore(path, { clock })
  const encode = (text: string) => new TextEncoder().encode(text)
  await store.enqueue([taskOf(1, { body: encode('one') }), taskOf(2, { body: encode('two') })])
  await store.close()
  edit(path, (database) => {
    try {
      spoil(database)
    } catch {
      // the tables refuse such a value: those of another hand do not
      unlock(database)
      spoil(database)
    }
    sumAnew(database, VICTIM)
  })
  return { ...(await run(path, clock)), store }
}

async function run(path: string, clock: FakeClock): Promise<Omit<Story, 'store'>> {
  const server = scriptedServer({ clock })
  const queue = new RetryQueue({
    ...{ clock, fetch: server.fetch, seed: 1n, ...NO_GATES, principal: null, store: sqliteStore({ path, clock }) },
  })
  const events = heard(queue, clock)
  await queue.ready
  for (let i = 0; i < 3; i++) server.reply(200)
  await clock.advance(60_000)
  return {
    queue,
    events,
    sent: server.requests.map(({ url, body }) => ({ url, body: body === null ? null : String(body) })),
  }
}

const column = (name: string, value: string) => (database: DatabaseSync) =>
  database.exec(`UPDATE tasks SET ${name} = ${value} WHERE id = '${VICTIM}'`)
const inRecord = (path: string, json: string) => (database: DatabaseSync) =>
  database.prepare(`UPDATE tasks SET record = json_set(record, ?, json(?)) WHERE id = '${VICTIM}'`).run(path, json)

const MOST = '9223372036854775807'

test.for<[what: string, spoil: (database: DatabaseSync) => void]>([
  ['a withheld name that is no name', inRecord('$.withheldHeaders', '["a b"]')],
  ['withheld names that are no list', inRecord('$.withheldHeaders', '{"length":1}')],
  ['attemptNumber of 2^63-1', column('attemptNumber', MOST)],
  ['token of 2^63-1', column('token', MOST)],
  ['seq of 2^63-1', column('seq', MOST)],
  ['bodyBytes of 2^63-1', column('bodyBytes', MOST)],
  ['a due time that is a text', column('turnAt', "'soon'")],
  ['no deadline reason', column('deadlineReason', 'NULL')],
  ['bytes for a method', column('method', "X'474554'")],
  ['a method that fetch refuses', column('method', "'TRACE'")],
  ['a lone header line', column('headers', `'{"a":"b\\r\\nc: d"}'`)],
  ['a list for a redirect (S15)', inRecord('$.requestInit.redirect', '["follow"]')],
  ['a word of fetch that is not stored', inRecord('$.requestInit.dispatcher', '{}')],
  ['an object for a policy', inRecord('$.policy.maxAttempts', '{}')],
  ['more attempts than a policy allows', inRecord('$.policy.maxAttempts', '1e9')],
  ['a meta that is no object', inRecord('$.meta', '"order 17"')],
  ['a meta longer than any caller may give', inRecord('$.meta', JSON.stringify({ a: 'x'.repeat(5_000) }))],
  ['tags that are no list', inRecord('$.tags', '"order"')],
  ['a tag that is no text', inRecord('$.tags', '["order", 7]')],
  ['more tags than any caller may give', inRecord('$.tags', JSON.stringify(Array.from({ length: 17 }, String)))],
  ['a target that is not its lane’s (S15)', column('targetUrl', `'${EVIL}'`)],
  ['a target with a password', column('targetUrl', "'https://a:b@api.test/orders'")],
  ['a principal that is not its lane’s (S16)', column('principal', "'ben'")],
  ['a key with a line break', column('idempotencyKey', "'a' || char(10) || 'b: c'")],
  ['a later schema', column('recordSchema', `${RECORD_SCHEMA + 1}`)],
])('S20 %s: put aside alone, counted by stats, shown to tools, never sent', async ([, spoil]) => {
  const { queue, store, events, sent } = await setup(spoil)
  expect(sent).toEqual([{ url: taskOf(2).targetUrl, body: 'two' }])
  expect(queue.stats()).toMatchObject({ unreadable: 1 })
  expect(events.of('degraded')).toMatchObject([{ code: 'unreadable_record' }])
  expect(await queue.get(VICTIM)).toBeUndefined()
  expect(await store.unreadable?.({ limit: 9 })).toMatchObject({
    records: [{ taskId: VICTIM, fields: { id: VICTIM } }],
  })
  expect(JSON.parse(await queue.deadLetters.export()).unreadable).toMatchObject([{ taskId: VICTIM }])
  expect(await store.purge({ taskId: VICTIM })).toBe(1)
  expect(await store.unreadable?.({ limit: 9 })).toEqual({ records: [] })
})

test.for([
  ['targetUrl', JSON.stringify(EVIL)],
  ['taskId', JSON.stringify(taskOf(2).taskId)],
  ['principal', '"ben"'],
  ['lane', '"https://evil.test"'],
  ['bodyBytes', '0'],
] as const)('S15 S16 a record has no say in its %s, which has a column', async ([name, json]) => {
  const { sent } = await setup(inRecord(`$.${name}`, json))
  expect(sent.map(({ body }) => body).sort()).toEqual(['one', 'two'])
  expect(new Set(sent.map(({ url }) => url))).toEqual(new Set([taskOf(1).targetUrl]))
})

test.for(['cookie', 'authorization', 'proxy-authorization', 'x-api-key', 'host', 'content-length'])(
  'S12 a row with a header that is never stored is not sent: %s',
  async (name) => {
    const { queue, sent, events } = await setup((database) => {
      database
        .prepare('UPDATE tasks SET headers = ? WHERE seq = 1')
        .run(JSON.stringify({ [name]: '999', accept: 'text/plain' }))
    })
    expect(sent.map(({ body }) => body)).toEqual(['two'])
    expect(await queue.get(VICTIM)).toMatchObject({ status: 'PENDING', nextAttemptAt: null, headers: {} })
    expect(JSON.stringify([await queue.list(), events.of('degraded')])).not.toContain('999')
    expect(events.of('degraded')).toMatchObject([{ code: 'unreadable_record' }])
  },
)

test('S20 a task that is said to have no body, and has one, is not sent without it', async () => {
  const { sent } = await setup((database) => {
    database.prepare('UPDATE tasks SET bodyBytes = 0, headers = ? WHERE seq = 1').run('{"content-type":"text/plain"}')
  })
  expect(sent.map(({ body }) => body)).toEqual(['two'])
})

test('S20 a call with the key of a later version’s task is refused, and not said to be that task', async () => {
  const { queue } = await setup(column('recordSchema', `${RECORD_SCHEMA + 1}`))
  const call = queue.enqueue(taskOf(1).targetUrl, {
    method: 'POST',
    body: 'one',
    redrive: { idempotencyKey: taskOf(1).idempotencyKey as string },
  })
  await expect(call).rejects.toMatchObject({ code: 'KEY_UNREADABLE', message: expect.stringContaining(VICTIM) })
})

test('S20 a body that is not as long as its task says is not sent', async () => {
  const { sent, queue } = await setup((database) => database.exec("UPDATE bodies SET bytes = X'00' WHERE task = 1"))
  expect(sent).toMatchObject([{ body: 'two' }])
  expect(await queue.get(VICTIM)).toMatchObject({ status: 'EXHAUSTED', reason: 'body_missing' })
})

test('S16 a lane whose row names another principal gives none of its tasks', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1, { principal: 'ann', lane: 'https://api.test ann' })])
  edit(path, (database) => database.exec("UPDATE lanes SET principal = 'ben'"))
  const claim = { ...claimOf(9), principal: 'ben' }
  expect(await store.turn({ ...STEP, claim })).toMatchObject({ claimed: [] })
})

test.for([
  'UPDATE lanes SET inFlight = 1000000',
  'UPDATE lanes SET pending = -5',
  'UPDATE lanes SET tasks = 0',
  'UPDATE lanes SET readyAt = NULL',
  'UPDATE lanes SET nextDue = 1e300, readyAt = 1e300',
  'UPDATE lanes SET heldUntil = 1e300, readyAt = 1e300',
  'UPDATE lanes SET served = 9223372036854775807',
  'DELETE FROM lanes',
  'UPDATE state SET inFlight = 1000000',
  'UPDATE state SET pending = 1000000',
  'UPDATE state SET bytes = 9007199254740993',
  'UPDATE state SET lastToken = 9223372036854775807',
  'UPDATE state SET lastRow = 0',
  'UPDATE state SET highWater = 1e300',
  'DELETE FROM state',
  "INSERT INTO homes VALUES ('elsewhere', 1e300); UPDATE tasks SET home = 'elsewhere'",
  "UPDATE tasks SET status = 'IN_FLIGHT', owner = 'x', dueAt = NULL, leaseUntil = 1e15",
])('S1 counters, lanes and homes are made anew from the tasks: %s', async (sql) => {
  const { sent, queue } = await setup((database) => database.exec(sql))
  expect(sent.map(({ body }) => body).sort()).toEqual(['one', 'two'])
  expect((await queue.enqueue(ORDERS, { method: 'POST' })).taskId).toBeDefined()
  expect(queue.stats().depth).toBeLessThanOrEqual(1)
})

test('S1 a lane is not forgotten while a task of it waits, whatever its row says of how many there are', async () => {
  const path = freshPath()
  const store = openStore(path)
  await store.enqueue([taskOf(1), taskOf(2), taskOf(3)])
  edit(path, (database) => database.exec('UPDATE lanes SET tasks = 0'))
  const claim = { ...claimOf(1), perLane: 9 }
  const claimed: unknown[] = []
  for (let turn = 0; turn < 3; turn++) claimed.push(...(await store.turn({ ...STEP, claim })).claimed)
  expect(claimed).toHaveLength(3)
})

const HOSTILE: readonly Partial<Record<keyof StoredTask, unknown>>[] = [
  { withheldHeaders: ['a b'] },
  { requestInit: { redirect: ['follow'] } },
  { targetUrl: EVIL },
  { headers: null },
  { attemptNumber: Number.NaN },
  { taskId: 'another' },
  { policy: 'x' },
  { meta: 'x' },
  { tags: {} },
]

test.for(HOSTILE)(
  'S20 another’s store that shows %j stops nothing: it is told, parked, and the rest is sent',
  async (wrong) => {
    let spoils = false
    const { open, close, server, clock } = world((store) =>
      withMethods(store, {
        turn: async (step) => {
          const turn = await store.turn(step)
          const [first, ...rest] = turn.claimed
          if (!first || !spoils) return turn
          spoils = false
          return { ...turn, claimed: [{ ...first, task: { ...first.task, ...wrong } as StoredTask }, ...rest] }
        },
        list: async (filter) => {
          const page = await store.list(filter)
          return { ...page, tasks: page.tasks.map((task) => ({ ...task, ...wrong }) as StoredTask) }
        },
      }),
    )
    const first = await open()
    first.queue.pause()
    for (const n of [1, 2]) await first.queue.enqueue(`${ORDERS}/${n}`, { method: 'POST', body: String(n) })
    await close(first)
    spoils = true
    server.reply(200).reply(200)
    const { queue, events } = await open()
    await clock.advance(5_000)
    expect(server.requests.map(({ url }) => url)).toEqual([`${ORDERS}/2`])
    expect(events.of('degraded')).toMatchObject([{ code: 'unreadable_record' }])
    await expect(queue.list()).resolves.toMatchObject({ tasks: expect.any(Array) })
    await expect(queue.deadLetters.export()).resolves.toBeTypeOf('string')
  },
)
