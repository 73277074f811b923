/** S12: what may be seen of a request, while the request itself goes out unchanged. */

import { expect, test } from 'vitest'
import type { RetryTask, SanitizeOptions } from '../../js/index.ts'
import { setup as axiosSetup } from './axios-setup.ts'
import { type Fakes, markOf, ORDERS, setup, submitted, watch } from './setup.ts'

const SECRET_URL = `${ORDERS}?page=2&token=hush&sort=asc#part`
const SHOWN_URL = `${ORDERS}?page=2&token=REDACTED&sort=asc#part`

/** Everything that is said of a task, in every place. */
async function everything({ queue, events }: Fakes, taskId: string): Promise<RetryTask[]> {
  const seen = [await queue.get(taskId), ...(await queue.list()).tasks, ...(await queue.deadLetters.list()).tasks]
  for (const name of ['queued', 'attempt', 'retry', 'succeeded', 'exhausted', 'cancelled'] as const) {
    seen.push(...events.of(name).map(({ task }) => task))
  }
  seen.push((await queue.result(taskId)).task)
  return seen.flatMap((task) => task ?? [])
}

test.each<[how: string, status: number]>([
  ['succeeded', 200],
  ['given up', 404],
])('S12 a secret in the query is REDACTED wherever the task is shown: %s', async (_how, status) => {
  const fakes = await setup()
  const { queue, server, clock } = fakes
  server.reply(503).reply(status)
  const { taskId } = await queue.enqueue(SECRET_URL, { method: 'POST' })
  await clock.advance(1_000)
  const tasks = await everything(fakes, taskId)
  expect(tasks.length).toBeGreaterThan(5)
  for (const task of tasks) expect(task.targetUrl).toBe(SHOWN_URL)
  const { error, ...rest } = await queue.result(taskId)
  const told = [rest, error?.message, error?.task, await queue.attempts(taskId), await queue.explain(taskId)]
  expect(JSON.stringify(told)).not.toContain('hush')
})

test('the request itself is sent as it is, every time', async () => {
  const { queue, server, clock } = await setup({}, 503, 503)
  const answer = watch(queue.fetch(SECRET_URL, { method: 'POST', headers: { authorization: 'Bearer hush' } }))
  await clock.advance(3_000)
  expect(answer.value?.status).toBe(200)
  expect(server.requests.map(({ url, headers }) => [url, headers.get('authorization')])).toEqual(
    Array(3).fill([SECRET_URL, 'Bearer hush']),
  )
})

test("S12 'keep' shows the URL as it is, and everything else stays hidden", async () => {
  const fakes = await setup({ sanitize: { urlSecrets: 'keep' } })
  const { queue, server, clock } = fakes
  server.reply(503)
  const headers = { authorization: 'Bearer quiet' }
  const { taskId } = await queue.enqueue(SECRET_URL, { method: 'POST', headers })
  await clock.advance(1_000)
  const tasks = await everything(fakes, taskId)
  for (const task of tasks) expect(task.targetUrl).toBe(SECRET_URL)
  expect(JSON.stringify(tasks)).not.toContain('quiet')
})

test.each<SanitizeOptions['urlSecrets']>(['memory', 'strip'])("S12 '%s' shows it REDACTED", async (urlSecrets) => {
  const { queue } = await setup({ sanitize: urlSecrets ? { urlSecrets } : {} })
  const { taskId } = await queue.enqueue(SECRET_URL)
  expect(await queue.get(taskId)).toMatchObject({ targetUrl: SHOWN_URL })
})

test('S12 letters beyond ASCII do not move what is hidden', async () => {
  const { taskId, queue, server } = await submitted([], { url: 'https://bücher.test/ä?ö=ü&token=hush&漢=1' })
  const { targetUrl = '' } = (await queue.get(taskId)) ?? {}
  expect(decodeURIComponent(targetUrl)).toMatch(/\/ä\?ö=ü&token=REDACTED&漢=1$/)
  expect(server.requests[0]?.url).toContain('token=hush')
})

test('S12 no message shows the query or the user of a URL', async () => {
  const { queue } = await setup({ maxBodyBytes: 1 })
  const calls = [
    queue.enqueue(SECRET_URL, { method: 'POST', body: '12' }),
    queue.fetch(SECRET_URL, { method: 'POST', body: new ReadableStream() }),
    queue.fetch('https://user:hush@api.test/'),
    queue.fetch('https://user:hush@bad host/'),
    queue.fetch('/orders?token=hush'),
    queue.fetch('//user:hush@api.test/'),
  ]
  for (const call of calls) {
    const error = (await call.catch((thrown: unknown) => thrown)) as Error
    expect(error).toBeInstanceOf(Error)
    expect(String(error)).not.toContain('hush')
  }
})

/** What is shown of these headers. */
async function shown(headers: HeadersInit, sanitize: SanitizeOptions = {}) {
  const { queue } = await setup({ sanitize })
  // once it is delivered nothing is left to show
  queue.pause()
  const { taskId } = await queue.enqueue(ORDERS, { headers })
  const task = await queue.get(taskId)
  return { headers: task?.headers, withheld: task?.withheldHeaders }
}

const GIVEN = {
  Accept: 'text/html',
  Authorization: 'Bearer hush',
  'X-Own': 'a',
  'X-Own-Api-Key': 'b',
  Prefer: 'return=minimal',
  'X-Request-Id': 'Bearer hush',
}

test('S12 of headers the list is shown, of all others the names', async () => {
  expect(await shown(GIVEN)).toEqual({
    headers: { accept: 'text/html', prefer: 'return=minimal' },
    withheld: ['authorization', 'x-own', 'x-own-api-key', 'x-request-id'],
  })
})

test.each<[what: string, sanitize: SanitizeOptions, kept: readonly string[]]>([
  ['a name more', { persistHeaders: ['X-Own'] }, ['accept', 'prefer', 'x-own']],
  ['a pattern more, but for what looks like a key', { persistHeaders: ['x-*'] }, ['accept', 'prefer', 'x-own']],
  ['a name less', { denyHeaders: ['Prefer'] }, ['accept']],
  ['patterns less', { denyHeaders: ['pre*', '*ept'] }, []],
  ['the deny-list wins', { persistHeaders: ['x-own'], denyHeaders: ['x-own'] }, ['accept', 'prefer']],
  ['what carries credentials stays out, asked for or not', { persistHeaders: ['authorization'] }, ['accept', 'prefer']],
])('S12 persistHeaders and denyHeaders: %s', async (_what, sanitize, kept) => {
  const { headers, withheld } = await shown(GIVEN, sanitize)
  expect(Object.keys(headers ?? {}).sort()).toEqual(kept)
  const names = Object.keys(GIVEN).map((name) => name.toLowerCase())
  expect([...(withheld ?? [])].sort()).toEqual(names.filter((name) => !kept.includes(name)).sort())
})

test('S12 the caller’s own error is not the place to hide things, its mark shows none', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 2 } }, 503, 503)
  const answer = watch(queue.fetch(SECRET_URL))
  await clock.advance(1_000)
  expect(JSON.stringify(markOf(answer.value))).not.toContain('hush')
})

test('S12 Axios: secrets in params are REDACTED in the task, and sent', async () => {
  const { server, queue, api } = await axiosSetup('http', { answers: [503] })
  const seen: string[] = []
  queue.on('queued', ({ task }) => seen.push(task.targetUrl))
  await api.get('/orders', { params: { page: 2, token: 'hush' } })
  expect(seen).toEqual([`${server.url}/orders?page=2&token=REDACTED`])
  expect(server.requests.map(({ url }) => url)).toEqual(Array(2).fill('/orders?page=2&token=hush'))
})
