/** Limits that are set anew, callers' own first attempts within them, and what `clear` takes away. */

import { expect, test } from 'vitest'
import { opened, world } from './durable-setup.ts'
import { API, ORDERS, setup, watch } from './setup.ts'

const LIMITED = { limitFirstAttempts: true, concurrency: 2 } as const

/** A fetch that answers when it is told to, and counts what runs. */
function slow() {
  const running: ((response: Response) => void)[] = []
  const urls: string[] = []
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    urls.push(String(input))
    return new Promise<Response>((resolve, reject) => {
      const answer = (response: Response) => {
        running.splice(running.indexOf(answer), 1)
        resolve(response)
      }
      running.push(answer)
      init?.signal?.addEventListener('abort', () => {
        if (running.includes(answer)) running.splice(running.indexOf(answer), 1)
        reject(init.signal?.reason)
      })
    })
  }
  return { fetch, running, urls, answer: (status = 200) => running[0]?.(new Response(null, { status })) }
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => `${ORDERS}/${i}`)

test('S7 limitFirstAttempts: no more calls run than concurrency, and each is sent when one ends', async () => {
  const { fetch, running, urls, answer } = slow()
  const { queue, clock, events } = await setup({ ...LIMITED, fetch })
  const calls = ids(5).map((url) => watch(queue.fetch(url)))
  await clock.settle()
  expect(running).toHaveLength(2)
  for (let sent = 3; sent <= 5; sent++) {
    answer()
    await clock.settle()
    expect([running.length, urls.length]).toEqual([2, sent])
  }
  answer()
  answer()
  await clock.settle()
  expect(calls.map(({ value }) => value?.status)).toEqual([200, 200, 200, 200, 200])
  expect(urls).toEqual(ids(5))
  expect(events.of('queued')).toHaveLength(3)
})

test('a call with room is sent at once and makes no task', async () => {
  const { queue, server, events } = await setup(LIMITED)
  for (const url of ids(10)) expect((await queue.fetch(url)).status).toBe(200)
  expect(server.hits).toBe(10)
  expect(events.names()).toEqual([])
  expect(queue.stats()).toMatchObject({ firstAttemptSucceeded: 10, depth: 0 })
})

test.each([false, true])(
  'S7 a deferred call keeps its place after its 202, while its attempt goes on, stored: %j',
  async (isStored) => {
    const { fetch, running, answer } = slow()
    const options = { limitFirstAttempts: true, concurrency: 1, fetch }
    const { open, clock } = world()
    const { queue, events } = isStored ? await open(options) : await setup({ ...options, clock })
    const first = watch(queue.fetch(ORDERS, { method: 'POST', body: 'a', redrive: { mode: 'defer', waitMs: 500 } }))
    await clock.advance(200)
    const second = watch(queue.fetch(ORDERS, { method: 'POST', body: 'b' }))
    await clock.advance(2_000)
    expect(first.value?.status).toBe(202)
    expect(running).toHaveLength(1)
    for (let ended = 0; ended < 2; ended++) {
      answer()
      await clock.advance(2_000)
    }
    expect(second.value?.status).toBe(200)
    expect(events.of('succeeded')).toHaveLength(2)
  },
)

test.each([undefined, { origin: API }])(
  'S8 a pause of %j holds calls back, whether others wait or not',
  async (scope) => {
    const { queue, clock, server } = await setup(LIMITED)
    queue.pause(scope)
    const calls = ids(4).map((url) => watch(queue.fetch(url)))
    await clock.advance(10_000)
    expect([server.hits, ...calls.map(({ state }) => state)]).toEqual([0, 'pending', 'pending', 'pending', 'pending'])
    queue.resume(scope)
    await clock.settle()
    expect(calls.map(({ value }) => value?.status)).toEqual([200, 200, 200, 200])
  },
)

test('a caller who leaves while it waits is not sent; one who leaves while it runs makes room', async () => {
  const { fetch, running, urls } = slow()
  const { queue, clock } = await setup({ ...LIMITED, concurrency: 1, fetch })
  const [running1, waiting] = [new AbortController(), new AbortController()]
  const calls = [running1, waiting].map(({ signal }, i) => watch(queue.fetch(`${ORDERS}/${i}`, { signal })))
  await clock.settle()
  const third = watch(queue.fetch(`${ORDERS}/2`))
  waiting.abort()
  running1.abort()
  await clock.settle()
  expect(calls.map(({ state }) => state)).toEqual(['rejected', 'rejected'])
  expect(urls).toEqual([`${ORDERS}/0`, `${ORDERS}/2`])
  running[0]?.(new Response())
  await clock.settle()
  expect(third.state).toBe('resolved')
})

test('S7 concurrency can be set anew, and holds at once', async () => {
  const { fetch, running, answer } = slow()
  const { queue, clock } = await setup({ concurrency: 1, fetch })
  expect([queue.concurrency, queue.concurrencyPerOrigin]).toEqual([1, 1])
  for (const url of ids(10)) await queue.enqueue(url)
  await clock.settle()
  expect(running).toHaveLength(1)
  queue.concurrency = 4
  await clock.settle()
  expect(running).toHaveLength(4)
  queue.concurrencyPerOrigin = 2
  expect([queue.concurrency, queue.concurrencyPerOrigin]).toEqual([4, 2])
  answer()
  answer()
  await clock.settle()
  expect(running).toHaveLength(2)
  queue.concurrencyPerOrigin = 6
  queue.concurrency = 6
  await clock.settle()
  expect(running).toHaveLength(6)
})

test('S7 it can be set before the core is there, and in a queue with a store', async () => {
  const { fetch, running } = slow()
  const { clock, queue } = await opened({ concurrency: 1, fetch })
  for (const url of ids(5)) await queue.enqueue(url, { method: 'POST' })
  await clock.advance(1_000)
  expect(running).toHaveLength(1)
  queue.concurrency = 3
  await clock.advance(1_000)
  expect(running).toHaveLength(3)
})

test.each<[number: unknown, error: typeof TypeError | typeof RangeError]>([
  [0, RangeError],
  [1.5, RangeError],
  [10_001, RangeError],
  ['4', TypeError],
  [undefined, TypeError],
])('it is checked as the option is: %j', async (number, error) => {
  const { queue } = await setup()
  for (const name of ['concurrency', 'concurrencyPerOrigin'] as const) {
    expect(() => {
      queue[name] = number as number
    }).toThrow(error)
  }
  expect([queue.concurrency, queue.concurrencyPerOrigin]).toEqual([6, 3])
})

test('clear cancels what waits, in memory, and leaves what runs', async () => {
  const { fetch, running, answer } = slow()
  const { queue, clock, events } = await setup({ ...LIMITED, concurrency: 1, fetch })
  const calls = ids(3).map((url) => watch(queue.fetch(url)))
  const { taskId } = await queue.enqueue(`${ORDERS}/task`)
  await clock.settle()
  expect(await queue.clear()).toBe(3)
  await clock.settle()
  expect(calls.map(({ state }) => state)).toEqual(['pending', 'rejected', 'rejected'])
  expect(calls[1]?.error).toMatchObject({ name: 'AbortError' })
  expect(await queue.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(events.of('cancelled')).toHaveLength(3)
  expect(running).toHaveLength(1)
  answer()
  await clock.settle()
  expect(calls[0]?.value?.status).toBe(200)
  expect(await queue.clear()).toBe(0)
})

test('clear cancels what waits in the store, of the current principal alone, and leaves dead letters', async () => {
  const { open, server, clock, store } = world()
  const kim = await open({ principal: 'kim', policy: { maxAttempts: 1 } })
  server.reply(503)
  const dead = await kim.queue.enqueue(`${ORDERS}/dead`, { method: 'POST' })
  await clock.advance(1_000)
  kim.queue.pause()
  const other = await open({ principal: 'lee' })
  other.queue.pause()
  const { taskId: of } = await other.queue.enqueue(`${ORDERS}/lee`, { method: 'POST' })
  const waiting = []
  for (const url of ids(3)) waiting.push((await kim.queue.enqueue(url, { method: 'POST' })).taskId)
  const stays = await open({ principal: 'lee' })
  expect(await kim.queue.clear()).toBe(3)
  for (const taskId of waiting) expect(await store.get(taskId)).toMatchObject({ status: 'CANCELLED' })
  expect(await store.get(of)).not.toMatchObject({ status: 'CANCELLED' })
  expect(await store.get(dead.taskId)).toMatchObject({ status: 'EXHAUSTED' })
  void stays
})

test('clear counts a deferred call in the store whose attempt is under way and has no place yet', async () => {
  const { server, clock, queue } = await opened()
  queue.pause()
  server.hang()
  const response = watch(queue.fetch(ORDERS, { method: 'POST', redrive: { mode: 'defer', waitMs: 0 } }))
  await clock.advance(1)
  expect(response.value?.status).toBe(202)
  expect(await queue.clear()).toBe(1)
})

test('clear ends the wait of a caller whose call failed, and of a stored one', async () => {
  const { clock, queue } = await opened({}, ...Array(5).fill(503))
  const [inMemory, stored] = ['GET', 'POST'].map((method) => watch(queue.fetch(ORDERS, { method })))
  await clock.advance(500)
  expect(await queue.clear()).toBe(2)
  await clock.advance(500)
  expect([inMemory?.error, stored?.error]).toMatchObject([{ name: 'AbortError' }, { name: 'AbortError' }])
})
