/** What is put in and taken out. */
import { bodies, type Case, post } from '../kit.ts'
import { drain, made, PARTS, partsOf, push } from './helpers.ts'

/** What push and unshift have in common. */
export const adding = (how: 'pushRequest' | 'unshiftRequest'): readonly Case[] => [
  {
    about: how,
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
    about: how,
    name: 'needs no metadata, and then gives none',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await queue[how]({ request: new Request('/api/get') })
      const [entry] = await queue.getAll()
      return [entry?.request.method, entry !== undefined && 'metadata' in entry]
    },
    seen: ['GET', false],
  },
  {
    about: how,
    name: 'without a timestamp it is of now',
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
    about: how,
    name: 'asks for a sync, by a tag of the queue’s own',
    needsSync: true,
    async run({ open, asked }) {
      const queue = open()
      await queue[how]({ request: post('a') })
      return [asked.length, asked[0] === `workbox-background-sync:${queue.name}`]
    },
    seen: [1, true],
  },
  {
    about: how,
    name: 'leaves the request to its owner, body unread',
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
]

export const taking: readonly Case[] = [
  {
    about: 'pushRequest',
    name: 'puts it last, `unshiftRequest` first',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'c', 'd')
      for (const body of ['b', 'a']) await queue.unshiftRequest({ request: post(body) })
      await push(queue, 'e')
      return bodies(await queue.getAll())
    },
    seen: ['a', 'b', 'c', 'd', 'e'],
  },
  {
    about: 'shiftRequest',
    name: 'takes out the first, with all that was kept of it',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await queue.pushRequest({ request: made(), metadata: { why: 'test' } })
      await push(queue, 'two')
      const entry = await queue.shiftRequest()
      return [await partsOf(entry?.request), entry?.metadata, await queue.size()]
    },
    seen: [PARTS, { why: 'test' }, 1],
  },
  {
    about: 'shiftRequest',
    name: 'takes out one after another, and then gives nothing',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a', 'b', 'c')
      return [await drain(queue, 'shiftRequest'), await queue.size()]
    },
    seen: [['a', 'b', 'c'], 0],
  },
  {
    about: 'shiftRequest',
    name: 'passes over what has expired',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      for (const [body, timestamp] of [['a', 12], ['b'], ['c', 34], ['d']] as const) {
        await queue.pushRequest({ request: post(body), ...(timestamp && { timestamp }) })
      }
      return drain(queue, 'shiftRequest')
    },
    seen: ['b', 'd'],
  },
  {
    about: 'shiftRequest',
    name: 'gives the request as it was given',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a')
      const entry = await queue.shiftRequest()
      return [...(entry?.request.headers.keys() ?? [])]
    },
    seen: ['content-type'],
    differs: {
      seen: ['content-type', 'idempotency-key'],
      workbox: 'the headers that it had',
      redrive: 'also its `Idempotency-Key`',
      why: 'sent by hand, and once more after a lost answer, it is one request to the server',
    },
  },
  {
    about: 'popRequest',
    name: 'takes out the last, with all that was kept of it',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'one')
      await queue.pushRequest({ request: made(), metadata: { why: 'test' } })
      const entry = await queue.popRequest()
      return [await partsOf(entry?.request), entry?.metadata, await queue.size()]
    },
    seen: [PARTS, { why: 'test' }, 1],
  },
  {
    about: 'popRequest',
    name: 'takes out one after another, and then gives nothing',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a', 'b', 'c')
      return [await drain(queue, 'popRequest'), await queue.size()]
    },
    seen: [['c', 'b', 'a'], 0],
  },
  {
    about: 'popRequest',
    name: 'passes over what has expired',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      for (const [body, timestamp] of [['a', 12], ['b'], ['c', 34], ['d']] as const) {
        await queue.pushRequest({ request: post(body), ...(timestamp && { timestamp }) })
      }
      return drain(queue, 'popRequest')
    },
    seen: ['d', 'b'],
  },
  {
    about: 'onSync',
    name: 'what failed is shifted back, and is the first of the next sync',
    needsSync: true,
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
    about: 'onSync',
    name: 'what is pushed back is the last',
    needsSync: true,
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
    about: 'onSync',
    name: 'a request that is put back changed is the changed one',
    needsSync: true,
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
    about: 'onSync',
    name: 'two that are put back in the order in which they came',
    needsSync: true,
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
]
