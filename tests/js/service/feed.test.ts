// The live view: who hears what, how a listener goes on, and what becomes of one that does not read.

import { describe, expect, test } from 'vitest'
import type { Broadcast, Enqueued, NewTask } from '../../../js/api/store.ts'
import { Feed, MOST_LISTENERS } from '../../../js/service/feed/feed.ts'
import type { Asked, FeedEvent } from '../../../js/service/feed/types.ts'
import { fakeClock } from '../../../js/testing/clock.ts'

const ALL: Asked = { tenant: null, sees: () => true, mayGoOn: () => true }
const event = (n: number, more: Partial<FeedEvent> = {}): FeedEvent => ({
  type: 'retry',
  tenant: 'acme',
  origin: 'https://a.test',
  data: { n },
  ...more,
})

function setup(broadcast?: Broadcast, process = 'one', clock = fakeClock()) {
  const emits = new Set<(event: FeedEvent) => void>()
  const feed = new Feed({
    clock,
    process,
    broadcast,
    queued: ({ taskId }) => event(0, { type: 'queued', taskId }),
    source: (emit) => {
      emits.add(emit)
      return () => void emits.delete(emit)
    },
  })
  return {
    feed,
    clock,
    isWatched: () => emits.size > 0,
    happen: (...args: Parameters<typeof event>) => {
      for (const emit of emits) emit(event(...args))
    },
  }
}

const decoder = new TextDecoder()

async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { done, value } = await reader.read()
  return done ? 'END' : decoder.decode(value)
}

async function whole(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = ''
  for (let part = await read(reader); part !== 'END'; part = await read(reader)) text += part
  return text
}

const listen = (feed: Feed, asked: Partial<Asked> = {}) => {
  const body = feed.listen({ ...ALL, ...asked })
  if (!body) throw new Error('too many')
  return body.getReader()
}

const numbers = (text: string): number[] => [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n))
const idsIn = (text: string): string[] => [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id ?? '')
const lastId = (text: string): string => idsIn(text).at(-1) ?? ''

test('an event is told with its id, its name and the instant; the first comment says whom it hears', async () => {
  const { feed, happen, clock } = setup()
  const reader = listen(feed)
  expect(await read(reader)).toBe(
    'retry: 2000\n: what this process does, as it happens: its store carries no messages between processes\n\n',
  )
  happen(1)
  const text = await read(reader)
  expect(text.slice(text.indexOf('\n') + 1)).toBe(`event: retry\ndata: {"at":${clock.now()},"n":1}\n\n`)
  expect(lastId(text)).toMatch(/^[\w-]{22}$/)
})

test('`queued` comes before what happens to a task while its store waits for the disk; events of others do not wait', async () => {
  const { feed, happen } = setup()
  const reader = listen(feed)
  const tasks = ['a', 'b'].map((taskId) => ({ taskId }) as NewTask)
  const enqueue = async (): Promise<readonly Enqueued[]> => {
    happen(1, { taskId: 'a' })
    happen(2, { taskId: 'b' })
    happen(3, { taskId: 'c' })
    return [
      { taskId: 'a', outcome: 'stored' },
      { taskId: 'of an earlier call', outcome: 'duplicate' },
    ]
  }
  await feed.enqueue({ enqueue }, tasks)
  happen(4, { taskId: 'a' })
  expect(numbers(await read(reader))).toEqual([3, 0, 1, 2, 4])
})

test('S16 the ids of events do not tell a tenant how many others had in between', async () => {
  const idsWith = async (others: number) => {
    const { feed, happen } = setup(undefined, 'a process')
    const reader = listen(feed, { sees: (tenant) => tenant === 'acme' })
    happen(1)
    for (let n = 0; n < others; n++) happen(n, { tenant: 'other' })
    happen(2)
    return idsIn(await read(reader))
  }
  const [[first, near], [same, far]] = await Promise.all([idsWith(0), idsWith(900)])
  expect([first, new Set([first, near, far]).size]).toEqual([same, 3])
  for (const id of [first, near, far]) expect(id).toMatch(/^[\w-]{22}$/)
})

test('a listener hears the types, the origin and the tenants that it asked for and may see', async () => {
  const { feed, happen } = setup()
  const reader = listen(feed, {
    types: new Set(['retry', 'circuit']),
    origin: 'https://a.test',
    sees: (tenant) => tenant === 'acme',
  })
  happen(1, { type: 'attempt' })
  happen(2, { origin: 'https://b.test' })
  happen(3, { tenant: 'other' })
  happen(4, { tenant: null })
  happen(5, { type: 'circuit', tenant: undefined })
  happen(6)
  expect(numbers(await read(reader))).toEqual([6])
})

describe('with Last-Event-ID', () => {
  test('a listener goes on after the event, also with one that came while it was away', async () => {
    const { feed, happen } = setup()
    const first = listen(feed)
    for (const n of [1, 2, 3]) happen(n)
    const lastEventId = lastId(await read(first))
    await first.cancel()
    happen(4)
    const again = listen(feed, { lastEventId })
    happen(5)
    expect(numbers(await read(again))).toEqual([4, 5])
  })

  test('of the last 1,000 events each can be gone on from, and of an older one the listener is told that it missed some', async () => {
    const { feed, happen } = setup()
    const reader = listen(feed)
    for (let n = 1; n <= 5_000; n++) happen(n)
    const ids: string[] = []
    while (ids.length < 5_000) ids.push(...idsIn(await read(reader)))
    const again = listen(feed, { lastEventId: ids[4_000] ?? '' })
    const rest: number[] = []
    while (rest.at(-1) !== 5_000) rest.push(...numbers(await read(again)))
    expect(rest).toHaveLength(999)
    const text = await read(listen(feed, { lastEventId: ids[6] ?? '' }))
    expect(text).toContain('event: missed\ndata: {"detail":"events after this one may have been missed')
    expect(numbers(text)).toEqual([])
    await reader.cancel()
  })

  test('a minute after the last listener nothing is kept, and nothing made', async () => {
    const { feed, happen, clock, isWatched } = setup()
    expect(isWatched()).toBe(false)
    const reader = listen(feed)
    happen(1)
    const lastEventId = lastId(await read(reader))
    await reader.cancel()
    await clock.advance(50_000)
    expect(isWatched()).toBe(true)
    await clock.advance(30_000)
    expect(isWatched()).toBe(false)
    expect(await read(listen(feed, { lastEventId }))).toContain('event: missed')
  })
})

test('one listener that does not read is closed and told so; the others are not held up', async () => {
  const { feed, happen, clock } = setup()
  const slow = listen(feed)
  const quick = listen(feed)
  const text = 'x'.repeat(100_000)
  for (let n = 1; n <= 12; n++) {
    happen(n, { data: { n, text } })
    expect(numbers(await read(quick))).toEqual([n])
  }
  await clock.advance(2_000)
  happen(13)
  // what it had been told is there, and then the reason
  const all = await whole(slow)
  expect(numbers(all)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  expect(all).toMatch(/event: closed\ndata: \{"reason":"slow","detail":".*Last-Event-ID.*"\}\n\n$/)
  await clock.advance(20_000)
  expect(await read(quick)).toContain('still here')
})

test('a burst that comes before anyone can read closes none that then reads', async () => {
  const { feed, happen, clock } = setup()
  const reader = listen(feed)
  for (let n = 1; n <= 50; n++) happen(n, { data: { n, text: 'x'.repeat(100_000) } })
  let text = ''
  while (!text.includes('"n":50,')) text += await read(reader)
  await clock.advance(5_000)
  happen(51)
  expect(numbers(await read(reader))).toEqual([51])
})

test('no listener is more than 16 MiB behind', async () => {
  const { feed, happen } = setup()
  const slow = listen(feed)
  for (let n = 1; n <= 200; n++) happen(n, { data: { n, text: 'x'.repeat(100_000) } })
  expect(numbers(await whole(slow))).toHaveLength(168)
})

test('one that reads nothing even then is cut off, and its events are let go of', async () => {
  const { feed, happen, clock } = setup()
  const slow = listen(feed)
  for (let n = 1; n <= 12; n++) happen(n, { data: { n, text: 'x'.repeat(100_000) } })
  await clock.advance(12_000)
  await expect(slow.read()).rejects.toThrow('the listener does not read')
})

test('there is room for 100 listeners, and again when one has left', async () => {
  const { feed } = setup()
  const readers = Array.from({ length: MOST_LISTENERS }, () => listen(feed))
  expect(feed.listen(ALL)).toBeUndefined()
  await readers[0]?.cancel()
  expect(feed.listen(ALL)).toBeDefined()
})

test('a listener whose token does not count any more is closed at the next beat', async () => {
  const { feed, clock } = setup()
  let mayGoOn = true
  const reader = listen(feed, { mayGoOn: () => mayGoOn })
  await clock.advance(15_000)
  mayGoOn = false
  await clock.advance(15_000)
  const text = await read(reader)
  expect(text.match(/still here/g)).toHaveLength(1)
  expect(text).toMatch(/event: closed\ndata: \{"reason":"unauthorized"/)
})

test('a service that stops tells its listeners, and those who come', async () => {
  const { feed, isWatched } = setup()
  const reader = listen(feed)
  feed.close()
  expect(await read(reader)).toMatch(/event: closed\ndata: \{"reason":"draining"/)
  expect(await read(reader)).toBe('END')
  expect(await read(listen(feed))).toMatch(/event: closed\ndata: \{"reason":"draining"/)
  expect(isWatched()).toBe(false)
})

describe('between processes', () => {
  /** A channel that all hear, as that of Redis is. */
  function bus(): Broadcast & { readonly sent: string[] } {
    const listeners = new Set<(message: string) => void>()
    const sent: string[] = []
    return {
      sent,
      send(message) {
        sent.push(message)
        for (const listener of listeners) listener(message)
      },
      subscribe(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
  }

  /** Two processes on one clock. */
  function pair(broadcast = bus()) {
    const clock = fakeClock()
    return { broadcast, clock, one: setup(broadcast, 'one', clock), two: setup(broadcast, 'two', clock) }
  }

  test('a listener hears the others, which send only while they are listened to', async () => {
    const { broadcast, clock, one, two } = pair()
    expect([two.isWatched(), broadcast.sent]).toEqual([false, []])
    const reader = listen(one.feed)
    expect(await read(reader)).toContain(': what the processes of this store do, as it happens\n')
    expect(two.isWatched()).toBe(true)
    two.happen(7)
    one.happen(8)
    const text = await read(reader)
    expect(numbers(text)).toEqual([7, 8])
    const [id = ''] = idsIn(text)
    // an event is told once, also to the process that it is of
    const other = listen(two.feed, { lastEventId: id })
    expect(numbers(await read(other))).toEqual([])
    await clock.advance(60_000)
    expect(two.isWatched()).toBe(true)
    await reader.cancel()
    await other.cancel()
    await clock.advance(120_000)
    const before = broadcast.sent.length
    expect([one.isWatched(), two.isWatched()]).toEqual([false, false])
    await clock.advance(60_000)
    expect(broadcast.sent).toHaveLength(before)
  })

  test('a listener that comes back within a minute has missed nothing of the others, though nobody else listened', async () => {
    const { clock, one, two } = pair()
    const reader = listen(one.feed)
    two.happen(1)
    const lastEventId = lastId(await read(reader))
    await reader.cancel()
    await clock.advance(50_000)
    two.happen(2)
    expect(numbers(await read(listen(one.feed, { lastEventId })))).toEqual([2])
  })

  test('one that comes later is told that it may have missed some, though this process has made events for others', async () => {
    const { clock, one, two } = pair()
    listen(two.feed)
    const reader = listen(one.feed)
    one.happen(1)
    const lastEventId = lastId(await read(reader))
    await reader.cancel()
    await clock.advance(90_000)
    // it has been silent towards this process by now
    two.happen(2)
    expect(one.isWatched()).toBe(true)
    const text = await read(listen(one.feed, { lastEventId }))
    expect([text.includes('event: missed'), numbers(text)]).toEqual([true, []])
  })

  test('what is no message of this version is passed over', async () => {
    const broadcast = bus()
    const { feed, happen } = setup(broadcast)
    const reader = listen(feed)
    await read(reader)
    const ofOthers = ['{"v":2,"from":"x","event":{}}', '{"v":1}', '{"v":1,"from":"x","event":{}}']
    for (const text of ['', '{', 'null', '[]', ...ofOthers]) broadcast.send(text)
    happen(1)
    expect(numbers(await read(reader))).toEqual([1])
  })
})

test('S16 a tenant that has all the places keeps no other out, and gives them up one by one, the oldest first', async () => {
  const { feed } = setup()
  const flood = Array.from({ length: MOST_LISTENERS }, () => listen(feed, { tenant: 'flood' }))
  expect(feed.listen({ ...ALL, tenant: 'flood' })).toBeUndefined()
  const others = Array.from({ length: MOST_LISTENERS / 2 }, () => listen(feed, { tenant: 'acme' }))
  const told = await whole(flood[0] as (typeof flood)[number])
  expect(told).toContain('event: closed\ndata: {"reason":"displaced"')
  expect(feed.listen({ ...ALL, tenant: 'acme' })).toBeUndefined()
  listen(feed, { tenant: 'third' })
  for (const reader of [...flood.slice(MOST_LISTENERS / 2 + 1), ...others.slice(1)]) {
    expect(await read(reader)).not.toContain('closed')
  }
})
