/** What is asked of a queue, and what is kept of a request. */
import { bodies, type Case, casesOf, failure, post } from '../kit.ts'
import { DAY_MS, emptied, push } from './helpers.ts'

export const asking: readonly Case[] = [
  {
    about: 'registerSync',
    name: 'a request that is pushed without Background Sync, or with `forceSyncFallback`',
    async run({ open, sent }) {
      const queue = open({ forceSyncFallback: true })
      await push(queue, 'a')
      await emptied(queue)
      return sent.length
    },
    seen: 0,
    differs: {
      seen: 1,
      workbox: 'waits until the worker starts again',
      redrive: 'is sent, with backoff, while the worker runs',
      why: 'the network may be back long before that',
    },
  },
  {
    about: 'getAll',
    name: 'returns all entries in order, and removes none',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a', 'b')
      await queue.pushRequest({ request: post('c'), metadata: { meta: 'data' } })
      const all = await queue.getAll()
      return [await bodies(all), all.map(({ metadata }) => metadata ?? null), await queue.size()]
    },
    seen: [['a', 'b', 'c'], [null, null, { meta: 'data' }], 3],
  },
  {
    about: 'getAll',
    name: 'leaves out expired entries',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a')
      await queue.pushRequest({ request: post('old'), timestamp: Date.now() - 1e12 })
      await push(queue, 'c')
      return [await bodies(await queue.getAll()), await queue.size()]
    },
    seen: [['a', 'c'], 2],
  },
  {
    about: 'size',
    name: 'is the number of entries',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a', 'b', 'c')
      return queue.size()
    },
    seen: 3,
  },
  {
    about: 'size',
    name: 'an expired entry that was not read yet',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await queue.pushRequest({ request: post('old'), timestamp: Date.now() - 8 * DAY_MS })
      return queue.size()
    },
    seen: 1,
    differs: { seen: 0, workbox: 'counts', redrive: 'does not count', why: 'it will never be sent' },
  },
  {
    about: 'BackgroundSyncPlugin',
    name: '`fetchDidFail` pushes the request',
    needsSync: true,
    async run({ side, fresh, sync, sent }) {
      const name = fresh()
      const plugin = side.plugin(name)
      await plugin.fetchDidFail({ request: post('failed') })
      return [await sync(name), sent.map(({ body }) => body)]
    },
    seen: ['none', ['failed']],
  },
]

export const keeping: readonly Case[] = casesOf({ about: 'what is stored' }, [
  {
    name: 'the value of `Authorization`',
    async run({ open, stored }) {
      const queue = open({ onSync: () => {} })
      await queue.pushRequest({ request: post('a', { authorization: 'Bearer of-the-caller-Jx81Qz' }) })
      return (await stored()).includes('of-the-caller-Jx81Qz')
    },
    seen: true,
    differs: {
      seen: false,
      workbox: 'is stored',
      redrive: 'is not stored: it is sent while the worker runs; after that, `credentials` supplies one',
      why: 'a copy of the profile would contain the account; and the token is stale after a day',
    },
  },
  {
    name: 'metadata that JSON cannot express, such as a Date',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await queue.pushRequest({ request: post('a'), metadata: { at: new Date(0) } })
      const [entry] = await queue.getAll()
      return (entry?.metadata as { readonly at: unknown } | undefined)?.at instanceof Date
    },
    seen: true,
    differs: {
      seen: false,
      workbox: 'comes back as it was',
      redrive: 'comes back as JSON: a Date as a string',
      why: 'tasks can be shown, exported and moved as JSON',
    },
  },
  {
    name: 'metadata of 5,000 characters',
    run: ({ open }) =>
      failure(open({ onSync: () => {} }).pushRequest({ request: post('a'), metadata: { text: 'x'.repeat(5_000) } })),
    seen: 'none',
    differs: {
      seen: 'RedriveError',
      workbox: 'is stored',
      redrive: 'is refused with `META_TOO_LARGE`: at most 4,096 bytes',
      why: 'it is read with every list of tasks; store an id there, and the rest in your own database',
    },
  },
  {
    name: 'a `no-cors` request',
    run: ({ open }) => {
      const request = new Request('https://other.test/x', { method: 'POST', mode: 'no-cors' })
      return failure(open({ onSync: () => {} }).pushRequest({ request }))
    },
    seen: 'none',
    differs: {
      seen: 'TypeError',
      workbox: 'is stored',
      redrive: 'is refused; one that Workbox has left is still sent',
      why: 'its response has no status, so failure and success look the same',
    },
  },
  {
    name: 'the `referrer` of a request, and `keepalive`',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      const request = new Request('/api/x', { method: 'POST', keepalive: true, referrer: '/from' })
      await queue.pushRequest({ request })
      const [entry] = await queue.getAll()
      return [entry?.request.keepalive, entry?.request.referrer.endsWith('/from')]
    },
    seen: [true, true],
    differs: {
      seen: [false, false],
      workbox: 'are stored',
      redrive: 'are not stored; `referrerPolicy` is',
      why: 'a referrer is a URL that may contain a secret; `keepalive` is for pages that close',
    },
  },
])
