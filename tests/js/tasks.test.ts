import { expect, test } from 'vitest'
import { type ExhaustedError, RedriveError, type RetryTask } from '../../js/index.ts'
import { always, ORDERS, setup, submitted, watch } from './setup.ts'

test('get shows a task as it waits, runs and ends', async () => {
  const { queue, server, clock } = await setup({ principal: 'user-7' }, 503)
  const release = server.hang()
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'x' })
  await clock.settle()
  expect(await queue.get(taskId)).toEqual({
    taskId,
    idempotencyKey: expect.any(String),
    targetUrl: ORDERS,
    method: 'POST',
    headers: { 'content-type': 'text/plain;charset=UTF-8', 'idempotency-key': expect.any(String) },
    withheldHeaders: [],
    bodyRef: 'inline',
    policyId: 'default',
    principal: 'user-7',
    attemptNumber: 1,
    nextAttemptAt: clock.now() + 1_000,
    createdAt: clock.now(),
    status: 'PENDING',
  })
  await clock.advance(1_000)
  expect(await queue.get(taskId)).toMatchObject({ status: 'IN_FLIGHT', attemptNumber: 2, nextAttemptAt: null })
  release(200)
  await clock.settle()
  const ended = await queue.get(taskId)
  expect(ended).toMatchObject({ status: 'SUCCEEDED', headers: {}, withheldHeaders: [] })
  expect(ended).not.toHaveProperty('bodyRef')
})

test('an unknown id is undefined, has no attempts, and is gone', async () => {
  const { queue } = await setup()
  expect(await queue.get('nobody')).toBeUndefined()
  expect(await queue.attempts('nobody')).toEqual({ attempts: [] })
  expect(await queue.cancel('nobody')).toBe('gone')
  await expect(queue.result('nobody')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' })
})

test('attempts tells each attempt and why the next step was taken', async () => {
  const { queue, server, clock } = await setup()
  server.reply(503, { 'retry-after': '120' }).fail(new TypeError('socket hang up')).reply(200)
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(200_000)
  const { attempts, cursor } = await queue.attempts(taskId)
  expect(cursor).toBeUndefined()
  expect(attempts).toMatchObject([
    { taskId, attemptNumber: 1, responseStatus: 503, errorMessage: null },
    { taskId, attemptNumber: 2, responseStatus: null, errorMessage: 'socket hang up' },
    { taskId, attemptNumber: 3, responseStatus: 200, errorMessage: null },
  ])
  expect(attempts[0]?.decision).toMatch(/^503, Retry-After 120 s: next at 00:02:0\d$/)
  expect(attempts.map(({ startedAt }) => startedAt)).toEqual(server.requests.map(({ at }) => at))
})

test('attempts come in pages', async () => {
  const { taskId, queue } = await submitted(Array(4).fill(503), { forMs: 15_000 })
  const first = await queue.attempts(taskId, { limit: 3 })
  const second = await queue.attempts(taskId, { limit: 3, ...(first.cursor ? { cursor: first.cursor } : {}) })
  expect([...first.attempts, ...second.attempts].map(({ attemptNumber }) => attemptNumber)).toEqual([1, 2, 3, 4, 5])
  expect(second.cursor).toBeUndefined()
})

test('the last 100 attempts are kept', async () => {
  const { queue, clock } = await setup({ policy: { strategy: 'fixed', maxAttempts: 100 } }, ...Array(150).fill(503))
  const { taskId } = await queue.enqueue(ORDERS)
  await clock.advance(99_000)
  await queue.deadLetters.redrive(taskId)
  await clock.advance(10_000)
  const { attempts } = await queue.attempts(taskId, { limit: 1_000 })
  expect(attempts).toHaveLength(100)
  expect(attempts.at(-1)?.attemptNumber).toBe(11)
})

test('list filters by status and by origin, in the order the tasks were made', async () => {
  const { queue, clock } = await setup({ concurrency: 3 }, 200, 404, 503)
  const ids: string[] = []
  for (const url of ['https://a.test/1', 'https://b.test/2', 'https://a.test/3']) {
    ids.push((await queue.enqueue(url)).taskId)
  }
  await clock.settle()
  const idsOf = async (filter: Parameters<typeof queue.list>[0]) =>
    (await queue.list(filter)).tasks.map(({ taskId }) => ids.indexOf(taskId))
  expect(await idsOf({})).toEqual([0, 1, 2])
  expect(await idsOf({ status: 'SUCCEEDED' })).toEqual([0])
  expect(await idsOf({ status: 'EXHAUSTED' })).toEqual([1])
  expect(await idsOf({ status: 'PENDING' })).toEqual([2])
  expect(await idsOf({ origin: 'https://a.test' })).toEqual([0, 2])
  expect(await idsOf({ origin: 'https://a.test', status: 'PENDING' })).toEqual([2])
  expect(await idsOf({ origin: 'https://nobody.test' })).toEqual([])
})

test('list comes in pages that neither repeat nor skip, even if tasks go between them', async () => {
  const { queue, clock } = await setup()
  queue.pause()
  const ids: string[] = []
  for (let i = 0; i < 25; i++) ids.push((await queue.enqueue(ORDERS)).taskId)
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const page = await queue.list({ limit: 10, ...(cursor ? { cursor } : {}) })
    seen.push(...page.tasks.map(({ taskId }) => taskId))
    cursor = page.cursor
    await queue.cancel(seen.at(-1) ?? '')
  } while (cursor)
  expect(seen).toEqual(ids)
  await clock.settle()
})

test('result resolves when the task ends, with the status and no error', async () => {
  const { queue, clock } = await setup({}, 503, 201)
  const { taskId } = await queue.enqueue(ORDERS)
  const result = watch(queue.result(taskId))
  await clock.settle()
  expect(result.state).toBe('pending')
  await clock.advance(1_000)
  expect(result.value).toEqual({ task: await queue.get(taskId), responseStatus: 201 })
  expect(await queue.result(taskId)).toEqual(result.value)
})

test('result of a task given up carries an ExhaustedError with reason and task', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 2 } }, 503, 'lost')
  const { taskId } = await queue.enqueue(`${ORDERS}?token=hush`)
  await clock.advance(1_000)
  const { responseStatus, error, task } = await queue.result(taskId)
  expect(responseStatus).toBeNull()
  expect(error).toMatchObject({ code: 'EXHAUSTED', name: 'ExhaustedError', reason: 'max_attempts', task })
  expect((error as ExhaustedError).message).not.toContain('hush')
})

test('result of a cancelled task says so', async () => {
  const { queue, clock } = await setup()
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS)
  const result = queue.result(taskId)
  await queue.cancel(taskId)
  const { task, error } = await result
  expect(task.status).toBe('CANCELLED')
  expect(error).toBeInstanceOf(RedriveError)
  expect(error?.code).toBe('CANCELLED')
  await clock.settle()
})

test('S8 cancel of a waiting task ends it at once, and its caller', async () => {
  const { queue, server, clock, events, hitsAfter } = await setup()
  always(server, 503)
  const answer = watch(queue.fetch(ORDERS))
  await clock.settle()
  const taskId = events.of('queued')[0]?.task.taskId ?? ''
  expect(await queue.cancel(taskId)).toBe('cancelled')
  await clock.settle()
  expect(answer.error).toMatchObject({ name: 'AbortError' })
  expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(await queue.cancel(taskId)).toBe('gone')
  expect(await hitsAfter(100_000)).toBe(1)
  expect(events.names()).toEqual(['queued', 'retry', 'cancelled'])
})

test('cancel of a task in flight aborts the attempt', async () => {
  const { taskId, queue, server, clock, events } = await submitted(['hangs'])
  expect(await queue.cancel(taskId)).toBe('requested')
  await clock.settle()
  expect(server.requests[0]?.signal.aborted).toBe(true)
  expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(events.names()).toEqual(['queued', 'attempt', 'cancelled'])
  expect(queue.stats()).toMatchObject({ cancelled: 1, inFlight: 0 })
})

test.each([
  [200, 'SUCCEEDED', ['queued', 'attempt', 'succeeded']],
  [503, 'CANCELLED', ['queued', 'attempt', 'cancelled']],
])('cancel of a task in flight whose %i was on its way leaves it %s', async (answer, status, told) => {
  // a fetch that does not listen to its signal, as a request whose answer is already here
  let release: (response: Response) => void = () => {}
  const fetch = () => new Promise<Response>((resolve) => (release = resolve))
  const { taskId, queue, clock, events } = await submitted([], { options: { fetch } })
  expect(await queue.cancel(taskId)).toBe('requested')
  release(new Response(null, { status: answer }))
  await clock.advance(60_000)
  expect(await queue.get(taskId)).toMatchObject({ status, attemptNumber: 1 })
  expect(events.names()).toEqual(told)
  expect(clock.timers).toBe(0)
})

test('retention that names one limit keeps the defaults of the others, even where it says undefined', async () => {
  const retention = { terminalMs: undefined, maxTerminal: 1 } as unknown as { maxTerminal: number }
  const { taskId, queue } = await submitted([], { options: { retention } })
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED' })
})

test('nobody can change the headers of a task that others are shown', async () => {
  const { queue } = await setup()
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS, { headers: { accept: 'text/plain', 'x-own': 'a' } })
  const shown = (await queue.get(taskId)) as RetryTask
  expect(() => Object.assign(shown.headers, { accept: 'changed' })).toThrow(TypeError)
  expect(() => Object.assign(shown.withheldHeaders, ['changed'])).toThrow(TypeError)
  expect(await queue.get(taskId)).toMatchObject({ headers: { accept: 'text/plain' }, withheldHeaders: ['x-own'] })
})
