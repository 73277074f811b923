/** What is asked of a queue, and what is kept of a request. */
import { bodies, type Case, failure, post } from '../kit.ts'
import { DAY_MS, emptied, push } from './helpers.ts'

export const asking: readonly Case[] = [
  {
    about: 'registerSync',
    name: 'without Background Sync, or with `forceSyncFallback`, what is pushed',
    async run({ open, sent }) {
      const queue = open({ forceSyncFallback: true })
      await push(queue, 'a')
      await emptied(queue)
      return sent.length
    },
    seen: 0,
    differs: {
      seen: 1,
      workbox: 'waits until the worker begins anew',
      redrive: 'is sent, and sent again with backoff, while the worker lives',
      why: 'the network may be back long before that',
    },
  },
  {
    about: 'getAll',
    name: 'gives all in order, and takes none out',
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
    name: 'leaves out what has expired',
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
    name: 'is how many there are',
    async run({ open }) {
      const queue = open({ onSync: () => {} })
      await push(queue, 'a', 'b', 'c')
      return queue.size()
    },
    seen: 3,
  },
  {
    about: 'size',
    name: 'what has expired and was not asked for yet',
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

export const keeping: readonly Case[] = [
  {
    about: 'what is stored',
    name: 'the value of `Authorization`',
    async run({ open, stored }) {
      const queue = open({ onSync: () => {} })
      await queue.pushRequest({ request: post('a', { authorization: 'Bearer of-the-caller-Jx81Qz' }) })
      return (await stored()).includes('of-the-caller-Jx81Qz')
    },
    seen: true,
    differs: {
      seen: false,
      workbox: 'is on the disk',
      redrive: 'is not: it is sent while the worker lives, and then `credentials` gives one',
      why: 'whoever gets at the profile has the account; and after a day it is stale',
    },
  },
  {
    about: 'what is stored',
    name: 'metadata that is no JSON, such as a Date',
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
      redrive: 'comes back as JSON has it: a Date as its text',
      why: 'a task of redrive can be exported and moved',
    },
  },
  {
    about: 'what is stored',
    name: 'metadata of 5,000 characters',
    run: ({ open }) =>
      failure(open({ onSync: () => {} }).pushRequest({ request: post('a'), metadata: { text: 'x'.repeat(5_000) } })),
    seen: 'none',
    differs: {
      seen: 'RedriveError',
      workbox: 'is kept',
      redrive: 'is refused, with `META_TOO_LARGE`: 4,096 bytes are the most',
      why: 'it is shown with every task: an id is kept there, and the rest in a database of your own',
    },
  },
  {
    about: 'what is stored',
    name: 'a `no-cors` request',
    run: ({ open }) => {
      const request = new Request('https://other.test/x', { method: 'POST', mode: 'no-cors' })
      return failure(open({ onSync: () => {} }).pushRequest({ request }))
    },
    seen: 'none',
    differs: {
      seen: 'TypeError',
      workbox: 'is kept',
      redrive: 'is refused; one that Workbox has left is sent all the same',
      why: 'its answer has no status, so a failure cannot be told from a success',
    },
  },
  {
    about: 'what is stored',
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
      workbox: 'come back',
      redrive: 'are not kept; `referrerPolicy` is',
      why: 'a referrer is a URL that may hold a secret, and `keepalive` is for pages that close',
    },
  },
]
