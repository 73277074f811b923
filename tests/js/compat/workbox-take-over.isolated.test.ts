/** The day of the change: what Workbox's own database holds becomes ours, whatever happens meanwhile. */
import { describe, expect, test, vi } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { WorkboxDatabase } from '../../../js/compat/workbox/database.ts'
import type { Queue } from '../../../js/compat/workbox.ts'
import { withMethods } from '../durable-setup.ts'
import { changeWorkbox, ORDERS, post, rowsOfWorkbox, SITE, serwist, type Worker, workbox, worker } from './worker.ts'

const TOKEN = 'Bearer of-the-caller-Jx81Qz'

const bodiesOf = ({ server }: Worker): string[] => server.requests.map(({ body }) => body)
const replies = ({ server }: Worker, ...statuses: number[]): void => {
  for (const status of statuses) server.reply(status)
}

/** Until Workbox's database holds no more than so many. */
async function leftOver({ rest }: Worker, many: number): Promise<void> {
  for (let i = 0; i < 40 && (await rowsOfWorkbox()).length > many; i++) await rest()
  expect(await rowsOfWorkbox()).toHaveLength(many)
}

/** A worker whose Workbox database holds these. */
async function left(requests: readonly Request[], options?: { readonly hasSync?: boolean }): Promise<Worker> {
  const made = worker(options)
  const old = await workbox()
  for (const request of requests) await old.pushRequest({ request })
  return made
}

describe('all of it', () => {
  test('comes over when a worker begins, in its order, and before what is pushed then', async () => {
    const made = await left(['a', 'b', 'c'].map((body) => post(body)))
    const { open, sync, during } = made
    const { queue, events } = open()
    await during(queue.pushRequest({ request: post('pushed') }))
    await during(queue.unshiftRequest({ request: post('in front') }))
    await leftOver(made, 0)
    replies(made, 200, 200, 200, 200, 200)
    expect(await sync()).toBe('well')
    expect(bodiesOf(made)).toEqual(['in front', 'a', 'b', 'c', 'pushed'])
    expect(events.of('degraded')).toEqual([])
  })

  test('is the same request, with timestamp and metadata', async () => {
    const { open, during } = worker()
    const old = await workbox()
    const bytes = new Uint8Array([0, 255, 10, 13, 128])
    const headers = { 'content-type': 'application/octet-stream', 'x-foo': 'bar' }
    const timestamp = Date.now() - 5_000
    const request = new Request(`${ORDERS}?n=1`, { method: 'PUT', body: bytes, headers, credentials: 'include' })
    await old.pushRequest({ request, timestamp, metadata: { why: ['test'] } })
    const { queue } = open()
    const entry = await during(queue.shiftRequest())
    expect(entry).toMatchObject({ timestamp, metadata: { why: ['test'] } })
    const { request: same } = entry as { request: Request }
    expect([same.url, same.method, same.credentials, same.mode]).toEqual([request.url, 'PUT', 'include', request.mode])
    expect(new Uint8Array(await same.arrayBuffer())).toEqual(bytes)
    expect(Object.fromEntries(same.headers)).toMatchObject(headers)
  })

  test('of this queue, and nothing of another one', async () => {
    const made = worker()
    for (const name of ['orders', 'others']) {
      const old = await workbox(name)
      await old.pushRequest({ request: post(name) })
    }
    made.open('orders')
    await leftOver(made, 1)
    expect((await rowsOfWorkbox()).map(({ queueName }) => queueName)).toEqual(['others'])
  })

  test('but what Workbox would have dropped', async () => {
    const made = worker()
    const old = await workbox()
    await old.pushRequest({ request: post('old'), timestamp: Date.now() - 8 * 86_400_000 })
    await old.pushRequest({ request: post('young'), timestamp: Date.now() - 6 * 86_400_000 })
    const { queue } = made.open()
    const all = await made.during(queue.getAll())
    expect(await Promise.all(all.map(({ request }) => request.text()))).toEqual(['young'])
    expect(await rowsOfWorkbox()).toEqual([])
  })

  test.for([true, false])('at the first sync, or without one: %s', async (hasSync) => {
    const made = await left([post('a')], { hasSync })
    replies(made, 200)
    made.open('others') // which finds nothing
    const { queue } = made.open()
    if (hasSync) expect(await made.sync()).toBe('well')
    else await made.during(queue.retryQueue.idle())
    await leftOver(made, 0)
    expect(bodiesOf(made)).toEqual(['a'])
  })

  test('where Workbox has left no database, none is made', async () => {
    const { open, rest } = worker()
    open()
    await rest()
    expect(await indexedDB.databases()).toEqual([])
  })

  test('once this worker is the active one: until then an older one is at work', async () => {
    const made = await left([post('a')])
    const { open, rest } = made
    const installing = Object.assign(new EventTarget(), { state: 'installing' })
    vi.stubGlobal('serviceWorker', installing)
    open()
    await rest()
    expect(await rowsOfWorkbox()).toHaveLength(1)
    installing.state = 'installed'
    installing.dispatchEvent(new Event('statechange'))
    await rest()
    expect(await rowsOfWorkbox()).toHaveLength(1)
    installing.state = 'activating'
    installing.dispatchEvent(new Event('statechange'))
    await leftOver(made, 0)
  })

  test('and what Serwist has left, with the sync that it has asked for', async () => {
    const made = await left([post('of workbox')])
    const { open, sync } = made
    const theirs = await serwist()
    await theirs.pushRequest({ request: post('a', { 'x-foo': 'bar' }), metadata: { why: 'test' } })
    await theirs.pushRequest({ request: post('with a token', { authorization: TOKEN }) })
    const { events } = open()
    replies(made, 200, 200, 200)
    expect(await sync('orders', { by: 'serwist' })).toBe('well')
    await leftOver(made, 0)
    expect(bodiesOf(made)).toEqual(['of workbox', 'a', 'with a token'])
    expect(made.server.requests[1]?.headers.get('x-foo')).toBe('bar')
    expect(made.server.requests[2]?.headers.get('authorization')).toBe(TOKEN)
    expect(await rowsOfWorkbox('serwist-background-sync')).toEqual([])
    expect(events.of('degraded').map(({ code }) => code)).toEqual(['credentials_missing'])
  })

  test('also what an older worker still adds: each sync looks again', async () => {
    const made = await left([post('a')])
    const { open, sync } = made
    open()
    await leftOver(made, 0)
    const old = await workbox()
    await old.pushRequest({ request: post('late') })
    replies(made, 200, 200)
    expect(await sync()).toBe('well')
    expect(bodiesOf(made)).toEqual(['a', 'late'])
  })
})

describe('S1 a worker is killed', () => {
  test('after an entry is enqueued and before it is deleted: it is one task', async () => {
    const made = await left([post('a'), post('b')])
    const { open, kill, rest, sync, store } = made
    const deleted = vi.spyOn(WorkboxDatabase.prototype, 'delete').mockReturnValue(new Promise(() => {}))
    const before = open()
    await rest()
    expect(await store.counts()).toMatchObject({ pending: 1 })
    expect(await rowsOfWorkbox()).toHaveLength(2)
    deleted.mockRestore()
    await kill(before)
    open()
    await leftOver(made, 0)
    replies(made, 200, 200)
    expect(await sync()).toBe('well')
    expect(bodiesOf(made)).toEqual(['a', 'b'])
  })

  test('there, and the task was sent since: the entry is not sent once more', async () => {
    const made = await left([post('a')])
    const { open, kill, sync } = made
    const deleted = vi.spyOn(WorkboxDatabase.prototype, 'delete').mockResolvedValue(undefined)
    const before = open()
    replies(made, 200)
    expect(await sync()).toBe('well')
    expect(await rowsOfWorkbox()).toHaveLength(1)
    deleted.mockRestore()
    await kill(before)
    open()
    expect(await sync()).toBe('well')
    expect(await rowsOfWorkbox()).toEqual([])
    expect(bodiesOf(made)).toEqual(['a'])
  })

  test('after an entry is marked and before it is in the store: it is still where it was', async () => {
    const made = await left([post('a')])
    const { open, kill, rest, sync, store } = made
    const before = open('orders', { redrive: { store: withMethods(store, { enqueue: () => new Promise(() => {}) }) } })
    for (let i = 0; i < 5; i++) await rest()
    expect(await rowsOfWorkbox()).toMatchObject([{ redrive: expect.any(String) }])
    await kill(before)
    open()
    await leftOver(made, 0)
    replies(made, 200)
    expect(await sync()).toBe('well')
    expect(bodiesOf(made)).toEqual(['a'])
  })

  test('an entry is deleted only once its task is in the store', async () => {
    const made = await left([post('a')])
    const order: string[] = []
    const { store } = made
    const enqueue: TaskStore['enqueue'] = async (tasks, lease) => {
      order.push(`${(await rowsOfWorkbox()).length} left, enqueued`)
      return store.enqueue(tasks, lease)
    }
    vi.spyOn(WorkboxDatabase.prototype, 'delete').mockImplementationOnce(async () => {
      order.push(`deleted, ${(await store.counts()).pending} stored`)
    })
    made.open('orders', { redrive: { store: withMethods(store, { enqueue }) } })
    await made.rest()
    vi.restoreAllMocks()
    expect(order).toEqual(['1 left, enqueued', 'deleted, 1 stored'])
  })
})

describe('an older worker at the same time', () => {
  test('an entry that it takes out meanwhile is neither read nor written back', async () => {
    await left([post('a'), post('b')])
    const database = await WorkboxDatabase.open()
    const { marked } = (await database?.mark('orders', 0, () => 'm')) ?? { marked: [] }
    const old = await workbox()
    await old.shiftRequest()
    expect(await Promise.all(marked.map((each) => database?.read(each)))).toMatchObject([
      undefined,
      { timestamp: expect.any(Number) },
    ])
    await database?.mark('orders', 0, () => 'm')
    expect(await rowsOfWorkbox()).toHaveLength(1)
    database?.close()
  })

  test('an entry that it puts back under the same id is another one', async () => {
    await left([post('a')])
    const database = await WorkboxDatabase.open()
    const { marked } = (await database?.mark('orders', 0, () => 'm')) ?? { marked: [] }
    await changeWorkbox((rows) => {
      rows.clear()
      rows.add({ id: marked[0]?.id, queueName: 'orders', timestamp: 1, requestData: { url: ORDERS, headers: {} } })
    })
    expect(marked).toHaveLength(1)
    for (const each of marked) {
      expect(await database?.read(each)).toBeUndefined()
      await database?.delete(each)
    }
    expect(await rowsOfWorkbox()).toHaveLength(1)
    database?.close()
  })
})

test('two workers at once: one takes over, and the other leaves it alone', async () => {
  const made = await left([post('a')])
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await new Promise<void>((granted) => {
    void navigator.locks.request('redrive/orders/take-over', () => {
      granted()
      return held
    })
  })
  const { queue } = made.open()
  expect(await made.during(queue.size())).toBe(0)
  expect(await rowsOfWorkbox()).toHaveLength(1)
  release()
  replies(made, 200)
  expect(await made.sync()).toBe('well')
  expect(bodiesOf(made)).toEqual(['a'])
})

describe('what cannot be taken over', () => {
  test('stays, is said, and holds up nothing', async () => {
    const made = await left([post('a'), post('b')])
    await changeWorkbox((rows) => {
      rows.add({ queueName: 'orders', timestamp: Date.now(), requestData: { url: 'no url', headers: {} } })
      rows.add({ queueName: 'orders', timestamp: 'then', requestData: { url: ORDERS, headers: {} } })
      rows.add({ queueName: 'orders', timestamp: Date.now(), requestData: null })
    })
    const { queue, events } = made.open()
    expect(await made.during(queue.size())).toBe(2)
    expect(await rowsOfWorkbox()).toHaveLength(3)
    const said = events.of('degraded')
    expect(said.map(({ code }) => code)).toEqual(['unreadable_record', 'unreadable_record'])
    expect(said[0]?.message).toContain('2 of its entries cannot be read')
  })

  test('for want of room is taken once there is some, and a sync says that something is left', async () => {
    const made = await left(['a', 'b', 'c'].map((body) => post(body)))
    const { open, sync, during } = made
    replies(made, 404, 404)
    const { queue, events } = open('orders', { redrive: { capacity: 2 } })
    await leftOver(made, 1)
    await during(queue.retryQueue.idle())
    expect(events.of('degraded')).toMatchObject([{ code: 'storage_full' }])
    expect(await sync()).toBe('queue-replay-failed')
    expect(bodiesOf(made)).toEqual(['a', 'b'])
    expect(await during(queue.retryQueue.deadLetters.purgeAll())).toBe(2)
    replies(made, 200)
    expect(await sync()).toBe('well')
    expect(bodiesOf(made)).toEqual(['a', 'b', 'c'])
    await leftOver(made, 0)
  })

  test("a 'no-cors' request is sent from where it lies, until it has arrived", async () => {
    const made = await left([post('gone')])
    await changeWorkbox((rows) => void rows.clear())
    await changeWorkbox((rows) => {
      const requestData = {
        url: 'https://beacon.test/x',
        method: 'POST',
        mode: 'no-cors',
        headers: {},
        body: new ArrayBuffer(3),
      }
      rows.add({ queueName: 'orders', timestamp: Date.now(), requestData })
    })
    const unplugged = vi.fn(() => Promise.reject(new TypeError('Failed to fetch')))
    const before = made.open('orders', { redrive: { fetch: unplugged } })
    expect(await made.sync()).toBe('queue-replay-failed')
    expect(unplugged).toHaveBeenCalled()
    expect(await rowsOfWorkbox()).toHaveLength(1)
    await made.kill(before)
    made.open()
    replies(made, 200)
    expect(await made.sync()).toBe('well')
    await leftOver(made, 0)
    expect(made.server.requests.map(({ url, body }) => [url, body])).toEqual([['https://beacon.test/x', '\0\0\0']])
  })

  test.for([
    [{}, 1, []],
    [{ onSync: () => {} }, 0, ['unreadable_record']],
  ] as const)(
    'metadata that is too large is left behind, unless an `onSync` may ask for it: %o',
    async ([options, size, codes]) => {
      const made = worker()
      const old = await workbox()
      await old.pushRequest({ request: post('a'), metadata: { text: 'x'.repeat(5_000) } })
      const { queue, events } = made.open('orders', options)
      expect(await made.during(queue.size())).toBe(size)
      expect(await rowsOfWorkbox()).toHaveLength(1 - size)
      expect(events.of('degraded').map(({ code }) => code)).toEqual(codes)
    },
  )

  test('a URL with a secret is not stored: it is sent from memory, and its entry stays until then', async () => {
    const made = await left([post('a', {}, `${ORDERS}?access_token=Jx81Qz`)])
    const { open, rest, sync, store } = made
    open()
    await leftOver(made, 1)
    expect((await store.list({ limit: 10 })).tasks).toEqual([])
    replies(made, 200)
    expect(await sync()).toBe('well')
    await rest()
    expect(made.server.hits).toBe(1)
    expect(await rowsOfWorkbox()).toEqual([])
  })
})

describe('S12 an entry with a credential', () => {
  const secret = () => post('secret', { authorization: TOKEN, 'x-request-id': 'r1' })

  test('goes out with it, and stays where it was until it has arrived: no byte of it is stored here', async () => {
    const made = await left([secret(), post('plain')])
    const { server, open, store, rest } = made
    const answer = server.hang()
    const { queue, events } = open()
    for (let i = 0; i < 20 && server.hits === 0; i++) await rest()
    const { tasks } = await store.list({ limit: 10 })
    expect(tasks).toHaveLength(2)
    expect(JSON.stringify(tasks)).not.toContain('Jx81Qz')
    expect(await rowsOfWorkbox()).toHaveLength(1)
    expect(events.of('degraded')).toMatchObject([{ code: 'credentials_missing', origin: SITE }])
    replies(made, 200)
    answer(200)
    await made.during(queue.retryQueue.idle())
    expect(server.requests.map(({ headers }) => headers.get('authorization'))).toEqual([TOKEN, null])
    await leftOver(made, 0)
  })

  test('is ours at once where `credentials` gives one for its origin', async () => {
    const made = await left([secret()])
    const { open, sync } = made
    const { events } = open('orders', { redrive: { credentials: { self: () => ({ authorization: 'Bearer fresh' }) } } })
    await leftOver(made, 0)
    replies(made, 200)
    expect(await sync()).toBe('well')
    expect(made.server.requests.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer fresh'])
    expect(events.of('degraded')).toEqual([])
  })

  test('that is refused is a dead letter, which can be put back', async () => {
    const made = await left([secret()])
    const { queue } = made.open()
    replies(made, 401)
    await made.sync()
    await leftOver(made, 0)
    const { tasks } = await made.during(queue.retryQueue.deadLetters.list())
    expect(tasks).toMatchObject([{ reason: 'not_retryable', withheldHeaders: ['authorization'] }])
  })

  test('is handed to an `onSync` with it', async () => {
    const made = await left([secret()])
    const seen: (string | null)[] = []
    const onSync = async ({ queue }: { queue: Queue }) => {
      const entry = await queue.shiftRequest()
      seen.push(entry?.request.headers.get('authorization') ?? null)
    }
    made.open('orders', { onSync })
    expect(await made.sync()).toBe('well')
    await made.rest()
    expect(seen).toEqual([TOKEN])
    expect(await rowsOfWorkbox()).toEqual([])
  })
})
