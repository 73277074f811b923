/** `meta` and `tags`: what a caller gives a task to be known by. */

import { expect, test } from 'vitest'
import { RedriveError } from '../../js/index.ts'
import { setup as axiosSetup } from './axios-setup.ts'
import { opened, world } from './durable-setup.ts'
import { KINDS } from './explain-setup.ts'
import { API, ORDERS, setup } from './setup.ts'

type Where = keyof typeof KINDS
const OTHER = 'https://other.test/hooks'
const post = (redrive: object) => ({ method: 'POST', body: 'x', redrive })

test.for(Object.keys(KINDS) as Where[])(
  'meta and tags are shown wherever the task is, and never sent: in %s',
  async (where) => {
    const { queue, events, server, clock } = await KINDS[where]()
    server.reply(503).reply(400)
    const { taskId } = await queue.enqueue(ORDERS, post({ meta: { order: 'meta-17' }, tags: ['tag-eu', 'tag-eu'] }))
    const labels = { taskId, meta: { order: 'meta-17' }, tags: ['tag-eu'] }
    expect(await queue.get(taskId)).toMatchObject(labels)
    await clock.advance(5_000)
    expect(events.names()).toEqual(expect.arrayContaining(['queued', 'attempt', 'retry', 'exhausted']))
    for (const name of ['queued', 'attempt', 'retry', 'exhausted'] as const) {
      for (const { task } of events.of(name)) expect(task).toMatchObject(labels)
    }
    expect((await queue.list()).tasks).toMatchObject([labels])
    expect((await queue.deadLetters.list()).tasks).toMatchObject([labels])
    expect(JSON.parse(await queue.deadLetters.export()).tasks).toMatchObject([labels])
    expect(server.requests).toHaveLength(2)
    for (const { url, headers, body } of server.requests) {
      expect(`${url} ${JSON.stringify([...headers])} ${body}`).not.toMatch(/meta-17|tag-eu/)
    }
  },
)

test('meta and tags outlive the process, and the redrive of a dead letter', async () => {
  const { open, close, server, clock } = world()
  const first = await open()
  first.queue.pause()
  const { taskId } = await first.queue.enqueue(ORDERS, post({ meta: { order: 17 }, tags: ['eu'] }))
  await close(first)
  server.reply(400).reply(200)
  const { queue, events } = await open()
  await clock.advance(1)
  await queue.deadLetters.redrive(taskId)
  await clock.advance(1)
  expect(events.of('succeeded')).toMatchObject([{ task: { taskId, meta: { order: 17 }, tags: ['eu'] } }])
  expect(await queue.get(taskId)).toMatchObject({ status: 'SUCCEEDED', meta: { order: 17 }, tags: ['eu'] })
})

test('meta is copied at the call, as JSON, and cannot be changed', async () => {
  const { queue, events } = await setup()
  queue.pause()
  const meta = { at: new Date(0), who: { name: 'ann' } }
  const tags = ['a']
  const enqueued = queue.enqueue(ORDERS, post({ meta, tags }))
  meta.who.name = 'ben'
  tags.push('b')
  const task = await queue.get((await enqueued).taskId)
  expect(task).toMatchObject({ meta: { at: '1970-01-01T00:00:00.000Z', who: { name: 'ann' } }, tags: ['a'] })
  expect([task?.meta, task?.meta?.who, task?.tags].every(Object.isFrozen)).toBe(true)
  expect(events.of('queued')[0]?.task.meta).toEqual(task?.meta)
})

test('a call by Axios has them too, its own before those of the instance', async () => {
  interface Order {
    readonly order: number
  }
  const meta: Order = { order: 17 }
  const { queue, api } = await axiosSetup('http', {}, {}, { tags: ['shop'], meta: { order: 0 } })
  queue.pause()
  await api.post('/orders', {}, { redrive: { mode: 'defer', orderKey: 'a', meta } })
  expect((await queue.list({ tags: 'shop' })).tasks).toMatchObject([{ meta: { order: 17 }, tags: ['shop'] }])
})

const circle: Record<string, unknown> = {}
circle.self = circle

test.for<[given: object, error: object]>([
  [{ meta: 'order 17' }, { name: 'TypeError' }],
  [{ meta: [17] }, { name: 'TypeError' }],
  [{ meta: circle }, { name: 'TypeError' }],
  [{ meta: { count: 1n } }, { name: 'TypeError' }],
  [{ tags: 'order' }, { name: 'TypeError' }],
  [{ tags: ['order', 7] }, { name: 'TypeError' }],
  [{ tags: [''] }, { name: 'RangeError' }],
  [{ tags: ['x'.repeat(65)] }, { name: 'RangeError' }],
  [{ tags: ['a\u0000b'] }, { name: 'RangeError' }],
  [{ tags: Array.from({ length: 17 }, String) }, { name: 'RangeError' }],
])('%o is refused at the call, by name', async ([given, error]) => {
  const { queue, server } = await setup()
  await expect(queue.fetch(ORDERS, post(given))).rejects.toMatchObject({
    ...error,
    message: expect.stringMatching(/^redrive\.(?:meta|tags)/),
  })
  expect(server.requests).toEqual([])
})

test('a meta that is too large is refused with its size and the limit, in bytes', async () => {
  const { queue } = await setup()
  const within = (bytes: number) => ({ text: 'é'.repeat((bytes - '{"text":""}'.length) / 2) })
  expect(JSON.stringify(within(4_095))).toHaveLength(2_053)
  await queue.enqueue(ORDERS, post({ meta: within(4_095) }))
  const error = await queue.enqueue(ORDERS, post({ meta: within(4_097) })).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RedriveError)
  expect(error).toMatchObject({ code: 'META_TOO_LARGE', message: expect.stringMatching(/4097 bytes.*4096/) })
})

test.for(Object.keys(KINDS) as Where[])(
  'a list has what has all of the given tags, page by page: %s',
  async (where) => {
    const { queue } = await KINDS[where]()
    queue.pause()
    const ids: string[] = []
    for (const [url, tags] of [
      [ORDERS, ['order', 'eu']],
      [ORDERS, ['order']],
      [OTHER, ['eu', 'order']],
      [ORDERS],
    ] as const)
      ids.push((await queue.enqueue(url, post(tags ? { tags } : {}))).taskId)
    const [first, second, third, fourth] = ids
    const listed = async (filter: object) => (await queue.list(filter)).tasks.map(({ taskId }) => taskId)
    expect(await listed({ tags: 'order' })).toEqual([first, second, third])
    expect(await listed({ tags: ['eu', 'order'] })).toEqual([first, third])
    expect(await listed({ tags: ['eu'], origin: API })).toEqual([first])
    expect(await listed({ tags: 'none' })).toEqual([])
    const page = await queue.list({ tags: 'order', limit: 2 })
    expect(page.tasks.map(({ taskId }) => taskId)).toEqual([first, second])
    expect(await listed({ tags: 'order', cursor: page.cursor })).toEqual([third])
    expect(await listed({})).toEqual([first, second, third, fourth])
  },
)

test.for(Object.keys(KINDS) as Where[])(
  'a list of what is active has neither what succeeded nor dead letters: %s',
  async (where) => {
    const { queue, server, clock } = await KINDS[where]()
    server.reply(200).reply(400).reply(503)
    for (let i = 0; i < 3; i++) await queue.enqueue(ORDERS, { ...post({}), redrive: { waitMs: 60_000 } })
    await clock.advance(1)
    server.hang()
    await queue.enqueue(ORDERS, post({}))
    await clock.advance(1)
    const statuses = async (filter: object) => (await queue.list(filter)).tasks.map(({ status }) => status)
    expect(await statuses({})).toEqual(['SUCCEEDED', 'EXHAUSTED', 'PENDING', 'IN_FLIGHT'])
    expect(await statuses({ active: true })).toEqual(['PENDING', 'IN_FLIGHT'])
    expect(await statuses({ active: true, limit: 1 })).toEqual(['PENDING'])
    expect(await statuses({ active: true, status: 'IN_FLIGHT' })).toEqual(['IN_FLIGHT'])
  },
)

test('active tasks are those of memory and of the store together', async () => {
  const { store, queue } = await opened()
  queue.pause()
  const stored = await queue.enqueue(ORDERS, post({ tags: ['a'] }))
  const here = await queue.enqueue(ORDERS, post({ tags: ['a'], sensitive: true }))
  expect((await store.list({ limit: 9 })).tasks).toMatchObject([{ taskId: stored.taskId }])
  for (const filter of [{ active: true }, { tags: 'a' }] as const) {
    expect((await queue.list(filter)).tasks.map(({ taskId }) => taskId)).toEqual([stored.taskId, here.taskId])
  }
})
