// The mark of a replay: by what a service knows its own, and what comes of those that it does not know.

import { expect, onTestFinished, test } from 'vitest'
import { ReplayMarks } from '../../../js/adapters/inbound/replay-header.ts'
import { attachOpenTelemetry } from '../../../js/adapters/opentelemetry.ts'
import type { RetryQueueOptions } from '../../../js/index.ts'
import { freshFolder } from '../../folder.ts'
import { type Seen, type Skin, serve, skins } from './servers.ts'
import { bytesIn, failing, LATER, queueIn, refused, service } from './setup.ts'

const json = { 'content-type': 'application/json' }
const SECRET = 'a secret of this service'

const markIn = ({ headers }: Seen): string | null => headers.get('redrive-replay')

/** One of several processes: its own queue over the file that they share, and what it was sent. */
async function member(skin: Skin, at: string, origin: string, secret?: string) {
  const { queue } = queueIn(at, { policy: { maxAttempts: 6 } })
  const seen: Seen[] = []
  const listener = await skin.mount({
    queue,
    inbound: { origin, ...(secret !== undefined && { secret }) },
    handler: (request) => {
      seen.push(request)
      throw refused()
    },
  })
  return { queue, seen, listener }
}

test('a mark is known by its secret, and by nothing that is cut, changed or of another', async () => {
  const [marks, others, given, same] = [
    new ReplayMarks(),
    new ReplayMarks(),
    new ReplayMarks(SECRET),
    new ReplayMarks(SECRET),
  ]
  const id = '0198c0de-0000-7000-8000-000000000001'
  const mark = await given.make(id, 2)
  expect(mark).toMatch(new RegExp(`^${id}\\.2\\.[\\da-f]{64}$`))
  expect(await same.isOwn(mark)).toBe(true)
  expect(await given.isOwn(await given.make(id, 3))).toBe(true)
  const wrong = [
    null,
    '',
    mark.slice(0, -1),
    `${mark}0`,
    mark.replace('.2.', '.3.'),
    mark.replace('001', '002'),
    mark.toUpperCase(),
  ]
  for (const each of wrong) expect(await given.isOwn(each), String(each)).toBe(false)
  for (const each of [marks, others]) expect(await each.isOwn(mark)).toBe(false)
  expect(await marks.isOwn(await others.make(id, 2))).toBe(false)
  expect(await new ReplayMarks(new TextEncoder().encode(SECRET)).isOwn(mark)).toBe(true)
})

for (const skin of skins) {
  const { name } = skin

  test(`${name}: a forged mark is no reason to keep nothing, and is not stored`, async () => {
    const { origin, queue, at } = await service(skin, { handler: failing(1_000), options: LATER })
    const forged = `0198c0de-0000-7000-8000-000000000001.1.${'f0'.repeat(32)}`
    const answer = await fetch(`${origin}/orders`, { headers: { 'redrive-replay': forged } })
    expect(answer.status).toBe(202)
    const [task] = (await queue.list()).tasks
    expect(task).toMatchObject({ status: 'PENDING', withheldHeaders: [] })
    expect(Object.keys(task?.headers ?? {})).not.toContain('redrive-replay')
    expect(bytesIn(at).includes('f0f0f0f0')).toBe(false)
  })

  test(`${name}: a request with a mark of the service's own is never kept, whoever sends it`, async () => {
    const { origin, queue, seen } = await service(skin, {
      handler: failing(1_000),
      options: { policy: { maxAttempts: 2 } },
    })
    const first = await fetch(`${origin}/orders`)
    await queue.result(first.headers.get('redrive-task-id') ?? '')
    const own = markIn(seen[1] as Seen) ?? ''
    const answer = await fetch(`${origin}/orders`, { headers: { 'redrive-replay': own } })
    // the status with which the task of a replay goes on, whatever the error handler says
    expect([answer.status, await answer.json()]).toEqual([503, { failed: true }])
    expect((await queue.list()).tasks).toHaveLength(1)
  })

  test(`${name}: the mark is in no byte of the store`, async () => {
    const { origin, queue, seen, at } = await service(skin, { handler: failing(2) })
    const answer = await fetch(`${origin}/orders`)
    await queue.result(answer.headers.get('redrive-task-id') ?? '')
    const mark = markIn(seen[2] as Seen) ?? ''
    expect(mark).toHaveLength(36 + 3 + 64)
    expect(bytesIn(at).includes(mark.slice(-64))).toBe(false)
  })

  test(`${name}: after a restart, with the secret gone, what was kept goes on, and marks from before count for nothing`, async () => {
    const at = freshFolder()
    const server = await serve()
    onTestFinished(() => server[Symbol.asyncDispose]())
    const { origin } = server
    const before = await member(skin, at, origin)
    server.listen(before.listener)
    const answer = await fetch(`${origin}/orders`)
    const taskId = answer.headers.get('redrive-task-id') ?? ''
    await expect.poll(() => before.seen.length, { timeout: 20_000 }).toBeGreaterThan(1)
    const old = markIn(before.seen[1] as Seen) ?? ''
    await before.queue.close({ drainMs: 0 })

    const after = await member(skin, at, origin)
    server.listen(after.listener)
    const { task } = await after.queue.result(taskId)
    expect(task).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts', attemptNumber: 6 })
    expect(before.seen.length + after.seen.length).toBeGreaterThanOrEqual(6)
    for (const each of after.seen) expect(markIn(each)).not.toBe(old)
    const again = await fetch(`${origin}/orders`, { headers: { 'redrive-replay': old } })
    expect(again.status).toBe(202)
    expect((await after.queue.list()).tasks).toHaveLength(2)
  })

  test.each([
    ['one secret', SECRET],
    ['a secret each', undefined],
  ])(
    `${name}: two processes behind one address, with %s: one task, and no repeat is taken for a client's`,
    async (_, secret) => {
      const at = freshFolder()
      const server = await serve()
      onTestFinished(() => server[Symbol.asyncDispose]())
      const both = [
        await member(skin, at, server.origin, secret),
        await member(skin, at, server.origin, secret),
      ] as const
      let turn = 0
      server.listen((request, response) => both[turn++ % 2]?.listener(request, response))
      for (const method of ['PUT', 'POST', 'GET']) {
        for (const { seen } of both) seen.length = 0
        const headers = method === 'POST' ? { ...json, 'idempotency-key': 'order-1' } : {}
        const answer = await fetch(`${server.origin}/${method}`, {
          method,
          headers,
          body: method === 'POST' ? '{}' : null,
        })
        expect(answer.status).toBe(202)
        const { task } = await both[0].queue.result(answer.headers.get('redrive-task-id') ?? '')
        expect(task).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts', attemptNumber: 6 })
        expect(both.map(({ seen }) => seen.length)).toEqual([3, 3])
      }
      expect((await both[0].queue.list()).tasks).toHaveLength(3)
    },
  )

  test(`${name}: a request whose task has ended without success is not promised again`, async () => {
    const { origin, queue } = await service(skin, { handler: failing(1_000), options: { policy: { maxAttempts: 2 } } })
    const post = () =>
      fetch(`${origin}/orders`, { method: 'POST', headers: { ...json, 'idempotency-key': 'k' }, body: '{}' })
    const first = await post()
    await queue.result(first.headers.get('redrive-task-id') ?? '')
    expect((await post()).status).toBe(500)
    expect((await queue.list()).tasks).toMatchObject([{ status: 'EXHAUSTED' }])
  })

  test(`${name}: what fails with a status of its own is told so in the history, and Retry-After is heeded`, async () => {
    const busy = () =>
      Object.assign(new Error('busy'), { status: 503, statusCode: 503, headers: { 'Retry-After': '40' } })
    const { origin, queue } = await service(skin, { handler: failing(1, busy) })
    const answer = await fetch(`${origin}/orders`)
    expect(answer.status).toBe(202)
    const { attempts } = await queue.attempts(answer.headers.get('redrive-task-id') ?? '')
    expect(attempts).toMatchObject([{ attemptNumber: 1, responseStatus: 503, data: { serverDelayMs: 40_000 } }])
  })

  test(`${name}: an error of the network is told by its code, and none of its words`, async () => {
    const { origin, queue } = await service(skin, { handler: failing(1_000), options: LATER })
    const answer = await fetch(`${origin}/orders`)
    const { attempts } = await queue.attempts(answer.headers.get('redrive-task-id') ?? '')
    expect(attempts).toMatchObject([{ attemptNumber: 1, errorMessage: 'the handler failed: ECONNREFUSED' }])
  })
}

// the rules are one for all frameworks: one is enough for what the queue does with them
const [first] = skins as [Skin]

test('with OpenTelemetry attached before or after, the handler’s run is sent by nothing', async () => {
  for (const when of ['before', 'after']) {
    const { origin, queue, seen } = await service(first, {
      handler: failing(1_000),
      options: { policy: { maxAttempts: 3 } },
      attach: when === 'before' ? attachOpenTelemetry : () => {},
    })
    if (when === 'after') attachOpenTelemetry(queue)
    const answer = await fetch(`${origin}/orders`)
    expect(answer.status).toBe(202)
    await queue.result(answer.headers.get('redrive-task-id') ?? '')
    expect(seen.map((each) => markIn(each) !== null)).toEqual([false, true, true])
  }
})

test('options that make calls wait before their first attempt change nothing: that was made', async () => {
  const wishes: readonly RetryQueueOptions[] = [
    { persist: 'before-send' },
    { limitFirstAttempts: true },
    { holdFirstAttempts: true },
    { idempotency: false },
    { idempotency: { header: 'X-Key', format: 'sf-string' } },
    { sign: () => ({ 'x-signed': 'yes' }), sanitize: { persistHeaders: ['x-signed'] } },
  ]
  for (const options of wishes) {
    const wish = { options: { ...options, policy: { maxAttempts: 3 } }, inbound: { authenticated: () => true } }
    const { origin, queue, seen } = await service(first, { handler: failing(1_000), ...wish })
    for (const init of [{}, { method: 'PUT', headers: json, body: '{}' }]) {
      seen.length = 0
      const answer = await fetch(`${origin}/orders`, init)
      expect(answer.status, JSON.stringify(options)).toBe(202)
      const { task } = await queue.result(answer.headers.get('redrive-task-id') ?? '')
      expect(task, JSON.stringify(options)).toMatchObject({ status: 'EXHAUSTED', reason: 'max_attempts' })
      expect(
        seen.map((each) => markIn(each) !== null),
        JSON.stringify(options),
      ).toEqual([false, true, true])
    }
  }
})

test('what is put back from the dead letters is sent under its mark, with its attempts counted anew', async () => {
  const { origin, queue, seen } = await service(first, { handler: failing(2), options: { policy: { maxAttempts: 2 } } })
  const answer = await fetch(`${origin}/orders`)
  const taskId = answer.headers.get('redrive-task-id') ?? ''
  await queue.result(taskId)
  await queue.deadLetters.redrive(taskId)
  expect((await queue.result(taskId)).task).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  expect(seen.map((each) => markIn(each)?.split('.')[1])).toEqual([undefined, '2', '1'])
})
