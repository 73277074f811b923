/** An entry of Workbox's own database that carries a credential, which is not stored a second time. */
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { Queue } from '../../../js/compat/workbox.ts'
import { post, rowsOfWorkbox, SITE, type Worker, workbox, worker } from './worker.ts'

const TOKEN = 'Bearer of-the-caller-Jx81Qz'

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory()
})

const _bodiesOf = ({ server }: Worker): string[] => server.requests.map(({ body }) => body)
const keysOf = ({ server }: Worker): (string | null)[] =>
  server.requests.map(({ headers }) => headers.get('idempotency-key'))
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

  test('S5 its worker is killed before it was sent: the next one has it again, under the same key', async () => {
    const made = await left([secret()])
    const { open, kill, rest, sync } = made
    const before = open()
    replies(made, 503)
    const synced = sync()
    await vi.waitFor(() => expect(made.server.hits).toBe(1))
    await kill(before)
    await synced
    replies(made, 200)
    open()
    await rest()
    expect(await sync()).toBe('well')
    await rest()
    expect(made.server.requests.map(({ headers }) => headers.get('authorization'))).toEqual([TOKEN, TOKEN])
    expect(new Set(keysOf(made))).toHaveLength(1)
    expect(await rowsOfWorkbox()).toEqual([])
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
