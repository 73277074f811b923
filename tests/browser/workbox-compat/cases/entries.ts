/** What is put in and taken out. */
import { bodies, type Case, casesOf, post } from '../kit.ts'
import { drain, made, PARTS, partsOf, push } from './helpers.ts'

/** What push and unshift have in common. */
export const adding = (how: 'pushRequest' | 'unshiftRequest'): readonly Case[] =>
  casesOf({ about: how }, [
    {
      name: 'keeps URL, method, headers, mode, credentials, body, timestamp and metadata',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        const timestamp = Date.now() - 1_000
        await queue[how]({ request: made(), timestamp, metadata: { why: 'test' } })
        const [entry] = await queue.getAll()
        return [await partsOf(entry?.request), entry?.timestamp === timestamp, entry?.metadata]
      },
      seen: [PARTS, true, { why: 'test' }],
    },
    {
      name: 'needs no metadata; without any, the entry has none',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        await queue[how]({ request: new Request('/api/get') })
        const [entry] = await queue.getAll()
        return [entry?.request.method, entry !== undefined && 'metadata' in entry]
      },
      seen: ['GET', false],
    },
    {
      name: 'without a timestamp, the entry has the current time',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        const from = Date.now()
        await queue[how]({ request: post('a') })
        const [{ timestamp = 0 } = {}] = await queue.getAll()
        return timestamp >= from && timestamp <= Date.now()
      },
      seen: true,
    },
    {
      name: 'registers a sync with the queue’s own tag',
      needsSync: true,
      async run({ open, asked }) {
        const queue = open()
        await queue[how]({ request: post('a') })
        return [asked.length, asked[0] === `workbox-background-sync:${queue.name}`]
      },
      seen: [1, true],
    },
    {
      name: 'leaves the caller’s request unread',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        const request = post('a')
        const added = queue[how]({ request })
        const own = await request.text()
        await added
        return [own, await bodies(await queue.getAll())]
      },
      seen: ['a', ['a']],
    },
  ])

/** What is taken out at one end or the other. */
const endsOf = (how: 'shiftRequest' | 'popRequest'): readonly Case[] => {
  const isFirst = how === 'shiftRequest'
  const inOrder = (...all: readonly string[]): readonly string[] => (isFirst ? all : all.toReversed())
  return casesOf({ about: how }, [
    {
      name: `removes and returns the ${isFirst ? 'first' : 'last'} entry, complete`,
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        if (!isFirst) await push(queue, 'another')
        await queue.pushRequest({ request: made(), metadata: { why: 'test' } })
        if (isFirst) await push(queue, 'another')
        const entry = await queue[how]()
        return [await partsOf(entry?.request), entry?.metadata, await queue.size()]
      },
      seen: [PARTS, { why: 'test' }, 1],
    },
    {
      name: 'removes one after another, then returns `undefined`',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        await push(queue, 'a', 'b', 'c')
        return [await drain(queue, how), await queue.size()]
      },
      seen: [inOrder('a', 'b', 'c'), 0],
    },
    {
      name: 'skips expired entries',
      async run({ open }) {
        const queue = open({ onSync: () => {} })
        for (const [body, timestamp] of [['a', 12], ['b'], ['c', 34], ['d']] as const) {
          await queue.pushRequest({ request: post(body), ...(timestamp && { timestamp }) })
        }
        return drain(queue, how)
      },
      seen: inOrder('b', 'd'),
    },
  ])
}

export const taking: readonly Case[] = [
  {
    about: 'pushRequest',
    name: 'adds the request at the end, and `unshiftRequest` at the front',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'c', 'd')
      for (const body of ['b', 'a']) await queue.unshiftRequest({ request: post(body) })
      await push(queue, 'e')
      return bodies(await queue.getAll())
    },
    seen: ['a', 'b', 'c', 'd', 'e'],
  },
  ...endsOf('shiftRequest'),
  {
    about: 'shiftRequest',
    name: 'the headers of the request that comes out',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a')
      const entry = await queue.shiftRequest()
      return [...(entry?.request.headers.keys() ?? [])]
    },
    seen: ['content-type'],
    differs: {
      seen: ['content-type', 'idempotency-key'],
      workbox: 'those it had',
      redrive: 'those it had and an `Idempotency-Key`',
      why: 'if your code sends it twice after a lost answer, the server sees one request',
    },
  },
  ...endsOf('popRequest'),
  ...casesOf({ about: 'onSync', needsSync: true }, [
    {
      name: 'a request that failed is unshifted, and is the first in the next sync',
      async run({ open, sync, answers, sent }) {
        const queue = open({
          async onSync({ queue: own }) {
            for (;;) {
              const entry = await own.shiftRequest()
              if (!entry) return
              try {
                await fetch(entry.request.clone())
              } catch (error) {
                await own.unshiftRequest(entry)
                throw error
              }
            }
          },
        })
        await push(queue, 'a', 'b', 'c')
        answers(200, 'lost')
        const ended = await sync(queue)
        const left = await bodies(await queue.getAll())
        return [ended, left, await sync(queue), sent.map(({ body }) => body)]
      },
      seen: ['TypeError', ['b', 'c'], 'none', ['a', 'b', 'b', 'c']],
    },
    {
      name: 'a request that is pushed back becomes the last',
      async run({ open, sync }) {
        const queue = open({
          async onSync({ queue: own }) {
            const entry = await own.shiftRequest()
            if (entry) await own.pushRequest(entry)
          },
        })
        await push(queue, 'a', 'b', 'c')
        await sync(queue)
        return bodies(await queue.getAll())
      },
      seen: ['b', 'c', 'a'],
    },
    {
      name: 'a request that was changed before it is unshifted keeps the change',
      async run({ open, sync }) {
        const queue = open({
          async onSync({ queue: own }) {
            const entry = await own.shiftRequest()
            if (!entry) return
            const request = new Request(entry.request, { headers: { 'x-foo': 'changed' } })
            await own.unshiftRequest({ ...entry, request })
          },
        })
        await queue.pushRequest({ request: post('a', { 'x-foo': 'bar' }) })
        await push(queue, 'b')
        await sync(queue)
        const all = await queue.getAll()
        return [await bodies(all), all.map(({ request }) => request.headers.get('x-foo'))]
      },
      seen: [
        ['a', 'b'],
        ['changed', null],
      ],
    },
    {
      name: 'of two that are unshifted, the second becomes the first',
      async run({ open, sync }) {
        const queue = open({
          async onSync({ queue: own }) {
            const [one, two] = [await own.shiftRequest(), await own.shiftRequest()]
            if (one) await own.unshiftRequest(one)
            if (two) await own.unshiftRequest(two)
          },
        })
        await push(queue, 'a', 'b', 'c')
        await sync(queue)
        return bodies(await queue.getAll())
      },
      seen: ['b', 'a', 'c'],
    },
  ]),
]
