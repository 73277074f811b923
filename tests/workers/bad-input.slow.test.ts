/** What is wrong is said, and where a task cannot be taken its caller has what plain fetch would give. */

import { expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { apiDuringTests, atOnce, noGates, order, quick, taskOf } from './api.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

const api = apiDuringTests()

const edge = duringTests(() => Edge.start({ object: { ...noGates, capacityBytes: 4_000_000 }, api: api.url }))
const object = (): EdgeObject => edge.object({ origin: api.url })

test.each([
  ['missing', 'NOTHING', 'undefined'],
  ['a text', 'API', 'http://127.0.0.1'],
  ['an object without methods', 'OBJECT', '{'],
])('a binding that is %s is named at once, with what to bind', async (_, binding) => {
  const { refused } = await edge.calls([], {}, binding)
  expect(refused).toMatchObject({ name: 'TypeError' })
  expect(refused?.message).toContain('queue')
  expect(refused?.message).toContain('RedriveObject')
  expect(refused?.message).toContain('"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Outbox"] }]')
})

test('a fetch that another request has made refuses each call, sends nothing, and goes on serving its own', async () => {
  const ask = (again = 0): Promise<object> => edge.post('/module-fetch', { again })
  const own = ask(1_000)
  await soon(async () => (await api.saw('module'))?.attempts).toBe(1)
  const error = { name: 'TypeError', message: expect.stringContaining('expected one for each request') }
  expect(await ask()).toMatchObject({ error })
  expect(await api.saw('module')).toMatchObject({ attempts: 1 })
  expect(await own).toMatchObject({ status: 200 })
  expect(await api.saw('module')).toMatchObject({ attempts: 2 })
})

test.each([
  ['without SQLite', 'PLAIN', 'new_sqlite_classes'],
  ['that throws when it is made', 'THROWING', 'throw a TypeError'],
])('a class %s is told at the first call, while all is well, and by enqueue', async (_, binding, words) => {
  const calls = [
    { url: api.orders('soon'), init: order('soon') },
    { url: api.orders('kept'), init: order('kept'), as: 'enqueue', after: 0 },
  ] as const
  const { answers, degraded } = await edge.calls(calls, {}, binding)
  const told = expect.stringContaining(words)
  expect(answers).toMatchObject([{ status: 200 }, { error: { code: 'OBJECT_MISCONFIGURED', message: told } }])
  expect(degraded).toMatchObject([{ code: 'object_misconfigured', message: told }])
})

test.each([
  [{ shards: 0 }, 'shards'],
  [{ shards: 257 }, 'shards'],
  [{ inlineMs: -1 }, 'inlineMs'],
  [{ inlineMs: 25_001 }, 'inlineMs'],
  [{ inlineAttempts: 0 }, 'inlineAttempts'],
  [{ inlineAttempts: 21 }, 'inlineAttempts'],
  [{ subrequests: 0 }, 'subrequests'],
  [{ subrequests: 1_001 }, 'subrequests'],
  [{ principal: 7 }, 'principal'],
  [{ inlineAtempts: 3 }, 'inlineAtempts'],
  [{ policy: { maxAttempts: 0 } }, 'maxAttempts'],
])('options %j are refused by name', async (options, name) => {
  const { refused } = await edge.calls([], options)
  expect(['RangeError', 'TypeError']).toContain(refused?.name)
  expect(refused?.message).toContain(name)
})

test('a policy that nobody has defined is an error of the call, and nothing is sent', async () => {
  const init = { ...order('nobody'), redrive: { policyId: 'nobody' } }
  const answer = await edge.call(api.orders('nobody'), init, { policy: quick })
  expect(answer.error?.message).toContain("'nobody'")
  expect(await api.saw('nobody')).toBeUndefined()
})

test.each([
  [
    'an attempt that may take longer than the Worker has left',
    { policy: { attemptTimeoutMs: 60_000 } },
    'attemptTimeoutMs',
  ],
  ['a mode that there is not', { mode: 'deferred' }, 'redrive.mode'],
  ['a waitMs that is text', { waitMs: '3' }, 'redrive.waitMs'],
  ["an order whose turn nobody would wait for, with mode 'await'", { mode: 'await', orderKey: 'one' }, 'orderKey'],
])('%s is an error of the call, and nothing is sent', async (_, redrive, name) => {
  const answer = await edge.call(api.orders(name), { ...order(name), redrive }, { policy: quick })
  expect(['RangeError', 'TypeError']).toContain(answer.error?.name)
  expect(answer.error?.message).toContain(name)
  expect(await api.saw(name)).toBeUndefined()
})

test.each([
  ['redrive: false', { redrive: false }],
  ['keepalive', { keepalive: true }],
  ["redirect: 'error'", { redirect: 'error' }],
])('what can be sent only at once is not enqueued: %s', async (what, more) => {
  const principal = 'only-at-once'
  const call = { url: api.orders(what), init: { ...order(what), ...more }, as: 'enqueue' } as const
  const { answers } = await edge.calls([call], { policy: quick, principal })
  expect(answers).toMatchObject([{ error: { name: 'TypeError' } }])
  expect(await edge.object({ origin: api.url, principal }).list()).toEqual([])
})

test('a Worker without handlers of its own is refused at once', async () => {
  expect(await edge.post('/wraps', {})).toMatchObject([
    { name: 'TypeError', message: expect.stringContaining('handlers') },
    { name: 'TypeError', message: expect.stringContaining('handlers') },
  ])
})

test('a body over maxBodyBytes is sent once; the answer is what it was', async () => {
  await api.fails(9)
  const init = { method: 'POST', body: 'x'.repeat(2_000) }
  const answer = await edge.call(api.orders('big'), init, { ...atOnce, inlineAttempts: 3, maxBodyBytes: 1_000 })
  expect(answer.status).toBe(503)
  expect(await api.saw('big')).toMatchObject({ attempts: 1 })
})

test('S17 an object that is full refuses: the caller has its own answer, and what it holds stays', async () => {
  await api.fails(9)
  const slow = { ...atOnce, principal: 'full', policy: { ...quick, initialDelayMs: 60_000 } }
  const send = (intent: string) =>
    edge.calls([{ url: api.orders(intent), init: { method: 'POST', body: intent.padEnd(2_500_000, '.') } }], slow)
  const first = await send('fits')
  expect(first.answers).toMatchObject([{ status: 202 }])
  const second = await send('does-not')
  expect(second.answers).toMatchObject([{ status: 503 }])
  expect(second.degraded).toMatchObject([{ code: 'storage_full' }])
  const full = edge.object({ origin: api.url, principal: 'full' })
  expect((await full.list()).map(({ taskId }) => taskId)).toEqual(first.answers.map(taskOf))
})

test('a record that no row can hold is refused by name, and others of the same call are taken', async () => {
  const long = 'x'.repeat(2_200_000)
  const nowhere = 'http://127.0.0.1:9/api'
  const calls = [
    { url: nowhere, init: { ...order('long'), headers: { 'x-correlation-id': long } } },
    { url: nowhere, init: order('short') },
  ]
  const { answers, degraded } = await edge.calls(calls, { ...atOnce, policy: { ...quick, initialDelayMs: 60_000 } })
  expect(answers[0]?.status).not.toBe(202)
  expect(answers[1]?.status).toBe(202)
  expect(degraded.map(({ message }) => message).join()).toMatch(/too large|larger|limit/i)
})

test('S6 the same key with another request is a conflict: the caller hears of it, and the first goes on', async () => {
  await api.fails(1)
  const keyed = (body: string) => ({ method: 'POST', body, redrive: { idempotencyKey: 'one-and-the-same' } })
  const options = { ...atOnce, policy: { ...quick, initialDelayMs: 1_000 } }
  const first = await edge.call(api.orders('first'), keyed('{"pieces":1}'), options)
  expect(first.status).toBe(202)
  const second = await edge.call(api.orders('second'), keyed('{"pieces":2}'), options)
  expect(second.status).not.toBe(202)
  expect(second.error?.message).toContain(`another request, task ${taskOf(first)}`)
  const elsewhere = { url: `${api.url}/api/elsewhere`, init: keyed('{"pieces":1}'), as: 'enqueue' } as const
  const { answers } = await edge.calls([elsewhere], options)
  expect(answers[0]?.error?.message).toContain(`a request to another URL, task ${taskOf(first)}`)
  await reaches(object(), taskOf(first), 'SUCCEEDED')
})

test('S14 the same key and the same request is the task that is there', async () => {
  await api.fails(9)
  const init = { ...order('twice'), redrive: { idempotencyKey: 'same-key-same-request' } }
  const options = { ...atOnce, policy: { ...quick, initialDelayMs: 60_000 } }
  const [first, again] = [
    await edge.call(api.orders('twice'), init, options),
    await edge.call(api.orders('twice'), init, options),
  ]
  expect(again.status).toBe(202)
  expect(taskOf(again)).toBe(taskOf(first))
})

test('an alarm for a task that is gone does nothing, and does not throw', async () => {
  await api.fails(9)
  const gone = edge.object({ origin: api.url, principal: 'gone' })
  const options = { ...atOnce, principal: 'gone', policy: { ...quick, initialDelayMs: 60_000 } }
  await edge.call(api.orders('gone'), order('gone'), options)
  expect(await gone.ask('purgeAll')).toBe(1)
  await gone.ask('ring')
  await soon(async () => (await gone.look()).alarms).toEqual([{ threw: null, stands: false }])
  expect((await gone.look()).runs).toMatchObject([{ attempts: 0, ended: 0, nextRunAt: null }])
  expect(await api.saw('gone')).toMatchObject({ attempts: 1 })
})

test('an alarm of an object that never had a task does nothing, and does not throw', async () => {
  const empty = edge.object({ origin: 'https://nobody.example' })
  await empty.ask('ring')
  await soon(async () => (await empty.look()).alarms).toEqual([{ threw: null, stands: false }])
})

test('what is no task is refused, and a task beside it is taken', async () => {
  for (const nonsense of [[{}], [null], ['task'], 'tasks', [{ taskId: 7 }]]) {
    const answer = await object()
      .ask('enqueue', nonsense)
      .catch((error: Error) => error)
    const said = answer instanceof Error ? answer.message : JSON.stringify(answer)
    expect(answer instanceof Error || said.includes('refused'), `${JSON.stringify(nonsense)}: ${said}`).toBe(true)
  }
  expect(await object().get('no such task')).toBe(null)
  expect(await object().ask('cancel', 'no such task')).toBe('gone')
  await expect(object().ask('list', { limit: -1 })).rejects.toThrow('limit')
  await expect(object().ask('holdLane', -1)).rejects.toThrow('forMs')
})

test('what is misspelt deletes nothing and puts nothing back', async () => {
  await api.fails(9)
  const principal = 'misspelt'
  const kept = edge.object({ origin: api.url, principal })
  const options = { ...atOnce, principal, policy: { ...quick, initialDelayMs: 60_000 } }
  const taskId = taskOf(await edge.call(api.orders(principal), order(principal), options))
  for (const filter of [[{ taskID: taskId }], [{ status: 'DEAD' }], [{ taskId: 7 }], []]) {
    await expect(kept.ask('purge', ...filter), JSON.stringify(filter)).rejects.toThrow('purge')
  }
  await expect(kept.ask('redrive', taskId, { acceptDuplicateRisks: true })).rejects.toThrow('acceptDuplicateRisks')
  expect(await kept.list()).toMatchObject([{ taskId, status: 'PENDING' }])
})

test('S20 an older version over a newer layout writes nothing, says so, and loses nothing', async () => {
  await api.fails(9)
  const newer = edge.object({ origin: api.url, principal: 'newer' })
  const options = { ...atOnce, principal: 'newer', policy: { ...quick, initialDelayMs: 1_000 } }
  const taskId = taskOf(await edge.call(api.orders('newer'), order('newer'), options))
  const [{ layout } = { layout: 0 }] = await newer.ask<{ layout: number }[]>(
    'rows',
    'SELECT layout FROM redrive_layout',
  )
  await newer.ask('rows', 'UPDATE redrive_layout SET layout = ?', layout + 1)
  await newer.abort()

  await expect(newer.get(taskId)).rejects.toThrow(/later version/i)
  const call = [{ url: api.orders('later'), init: order('later') }]
  const { answers, degraded } = await edge.calls(call, options)
  expect(answers).toMatchObject([{ status: 503 }])
  expect(degraded[0]?.message).toMatch(/later version/i)
  await newer.ask('ring')
  await soon(async () => (await newer.look()).alarms.length).toBeGreaterThan(0)
  expect((await newer.look()).alarms.filter(({ threw }) => threw !== null)).toEqual([])

  await newer.ask('rows', 'UPDATE redrive_layout SET layout = ?', layout)
  await newer.abort()
  await api.fails(0)
  await newer.ask('hurry')
  await reaches(newer, taskId, 'SUCCEEDED')
})

test('an option that an object cannot have is named by every call, and its alarm does not throw', async () => {
  await using wrong = await Edge.start({ object: { attemptsPerRun: 0 } })
  const misled = wrong.object({ origin: 'https://api.example' })
  await expect(misled.ask('stats')).rejects.toThrow('attemptsPerRun')
  await misled.ask('ring')
  await soon(async () => (await misled.look()).alarms.length).toBeGreaterThan(0)
  expect((await misled.look()).alarms[0]?.threw).toBe(null)
})
