/**
 * What Workbox's queue does, case by case, and where ours does something else. Each case is run with both libraries in a real service
 * worker: what Workbox is said to do is seen, too. The table of docs/compat-workbox.md is made of these.
 */
import { bodies, type Case, failure, post, type QueueLike } from './kit.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Pushes requests with these bodies, one after another. */
async function push(queue: QueueLike, ...all: readonly string[]): Promise<void> {
  for (const body of all) await queue.pushRequest({ request: post(body) })
}

/** Until the queue is empty, or a while has passed in which its database was asked many times. */
async function emptied(queue: QueueLike): Promise<void> {
  for (let asked = 0; asked < 300 && (await queue.size()) > 0; asked++);
}

/** Takes all out at one end. */
async function drain(queue: QueueLike, how: 'shiftRequest' | 'popRequest'): Promise<string[]> {
  const seen: string[] = []
  for (;;) {
    const entry = await queue[how]()
    if (!entry) return seen
    seen.push(await entry.request.text())
  }
}

const made = (url = 'https://other.test/x') =>
  new Request(url, { method: 'PUT', body: 'bytes', headers: { 'x-foo': 'bar' }, mode: 'cors', credentials: 'include' })

/** The parts of a request that both give back. */
async function partsOf(request: Request | undefined): Promise<unknown> {
  if (!request) return undefined
  const { url, method, mode, credentials, headers } = request
  return { url, method, mode, credentials, foo: headers.get('x-foo'), body: await request.text() }
}
const PARTS = {
  url: 'https://other.test/x',
  method: 'PUT',
  mode: 'cors',
  credentials: 'include',
  foo: 'bar',
  body: 'bytes',
}

/** First of all, since Workbox's database is new then. */
const first: Case = {
  about: 'unshiftRequest',
  name: 'three are put in front, in a database whose first id is 1',
  async run({ open }) {
    const queue = open({ onSync: () => {} })
    await push(queue, 'd')
    for (const body of ['c', 'b', 'a']) await queue.unshiftRequest({ request: post(body) })
    return bodies(await queue.getAll())
  },
  seen: ['c', 'd', 'b', 'a'],
  differs: {
    seen: ['a', 'b', 'c', 'd'],
    workbox: 'the second of them and all later ones become the last',
    redrive: 'each becomes the first',
    why: 'Workbox takes the id 0 for none',
  },
}

const constructing: readonly Case[] = [
  {
    about: 'constructor',
    name: 'a second queue of the same name is an error, of another name it is none',
    async run({ side, fresh }) {
      const [one, other] = [fresh(), fresh()]
      side.open(one)
      const again = await failure((async () => side.open(one))())
      return [again, await failure((async () => side.open(other))())]
    },
    seen: ['duplicate-queue-name', 'none'],
  },
  {
    about: 'constructor',
    name: 'a sync of its own tag calls `onSync` with the queue, one of another tag does not',
    needsSync: true,
    async run({ open, sync, fresh }) {
      const given: unknown[] = []
      const queue = open({ onSync: ({ queue: own }) => void given.push(own) })
      const ended = [await sync(queue), await sync(fresh())]
      return [ended, given.length, given[0] === queue]
    },
    seen: [['none', 'unanswered'], 1, true],
  },
  {
    about: 'constructor',
    name: 'without `onSync` a sync replays',
    needsSync: true,
    async run({ open, sync, sent }) {
      const queue = open()
      await push(queue, 'a')
      return [await sync(queue), sent.map(({ body }) => body), await queue.size()]
    },
    seen: ['none', ['a'], 0],
  },
  {
    about: 'constructor',
    name: 'what is added during a sync asks for one more, once and only after it',
    needsSync: true,
    async run({ open, sync, asked }) {
      const during: number[] = []
      const queue = open({
        async onSync({ queue: own }) {
          await push(own, 'a', 'b', 'c')
          during.push(asked.length)
        },
      })
      return [await sync(queue), during, asked.length]
    },
    seen: ['none', [0], 1],
  },
  {
    about: 'constructor',
    name: 'after a sync that failed none is asked for, since the browser repeats it',
    needsSync: true,
    async run({ open, sync, asked }) {
      const queue = open({
        async onSync({ queue: own }) {
          await push(own, 'a')
          throw new RangeError('sync failed')
        },
      })
      return [await sync(queue), asked.length]
    },
    seen: ['RangeError', 0],
  },
  {
    about: 'constructor',
    name: 'after the last chance that failed, one is asked for where something was added',
    needsSync: true,
    async run({ open, sync, asked }) {
      const queue = open({
        async onSync({ queue: own }) {
          await push(own, 'a')
          throw new RangeError('sync failed')
        },
      })
      return [await sync(queue, { lastChance: true }), asked.length]
    },
    seen: ['RangeError', 1],
  },
  {
    about: 'constructor',
    name: '`onSync` is called at once where there is no Background Sync, and else is not',
    async run({ open }) {
      let calls = 0
      open({ onSync: () => void calls++ })
      return calls === ('sync' in (globalThis as unknown as { registration: object }).registration ? 0 : 1)
    },
    seen: true,
  },
  {
    about: 'constructor',
    name: '`forceSyncFallback` calls `onSync` at once',
    async run({ open }) {
      let calls = 0
      open({ onSync: () => void calls++, forceSyncFallback: true })
      return calls
    },
    seen: 1,
  },
  {
    about: 'constructor',
    name: 'an `onSync` that throws what is no Error fails the sync',
    needsSync: true,
    async run({ open, sync }) {
      const queue = open({ onSync: () => Promise.reject('why') })
      return sync(queue)
    },
    seen: 'none',
    differs: {
      seen: 'undefined',
      workbox: 'the sync counts as done',
      redrive: 'the sync fails, and the browser repeats it',
      why: 'what failed is to be tried again, whatever was thrown',
    },
  },
]

/** What push and unshift have in common. */
const adding = (how: 'pushRequest' | 'unshiftRequest'): readonly Case[] => [
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

const taking: readonly Case[] = [
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

const replaying: readonly Case[] = [
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'sends all of its queue in order, and nothing of another',
    async run({ open, sent }) {
      const [queue, other] = [open(), open()]
      for (const body of ['a', 'b', 'c']) {
        await push(queue, body)
        await push(other, `other ${body}`)
      }
      await queue.replayRequests()
      const first = sent.map(({ body }) => body)
      await other.replayRequests()
      return [first, sent.slice(3).map(({ body }) => body)]
    },
    seen: [
      ['a', 'b', 'c'],
      ['other a', 'other b', 'other c'],
    ],
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'takes out what was delivered, and nothing of another queue',
    async run({ open }) {
      const [queue, other] = [open(), open()]
      for (const body of ['a', 'b']) {
        await push(queue, body)
        await push(other, body)
      }
      await queue.replayRequests()
      return [await queue.size(), await other.size()]
    },
    seen: [0, 2],
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'does not send what has expired',
    async run({ open, sent }) {
      const queue = open({ maxRetentionTime: 1 })
      for (const [body, ageMs] of [
        ['old', MINUTE_MS + 1],
        ['young', 0],
      ] as const) {
        await queue.pushRequest({ request: post(body), timestamp: Date.now() - ageMs })
      }
      await queue.replayRequests()
      return [sent.map(({ body }) => body), await queue.size()]
    },
    seen: [['young'], 0],
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'a request that gets no answer',
    async run({ open, answers, sent, side }) {
      const queue = open()
      await push(queue, 'a', 'b', 'c', 'd', 'e')
      answers(200, 200, 200, 'lost')
      const ended = await failure(queue.replayRequests())
      const left = await bodies(await queue.getAll())
      return [ended, left, sent.map(({ body }) => body), await side.givenUp(queue)]
    },
    seen: ['queue-replay-failed', ['d', 'e'], ['a', 'b', 'c', 'd'], 0],
    differs: {
      seen: ['none', [], ['a', 'b', 'c', 'd', 'e', 'd'], 0],
      workbox: 'the replay ends there, and all behind it wait for another sync',
      redrive: 'it steps aside for its wait, the others are sent, and it is sent again',
      why: 'one request that never gets through would hold up all others',
    },
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'rejects with `queue-replay-failed` where something is left',
    async run({ open, answers }) {
      const queue = open()
      await push(queue, 'a')
      answers(...Array.from({ length: 20 }, () => 'lost' as const))
      return [await failure(queue.replayRequests()), await queue.size()]
    },
    seen: ['queue-replay-failed', 1],
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'a request that is answered with a 503',
    async run({ open, answers, sent }) {
      const queue = open()
      await push(queue, 'a')
      answers(503)
      await queue.replayRequests()
      return [sent.length, await queue.size()]
    },
    seen: [1, 0],
    differs: {
      seen: [2, 0],
      workbox: 'counts as delivered, and is lost',
      redrive: 'is sent again, as after 429, 502 and 504, and no sooner than `Retry-After` says',
      why: 'the server has said that it did not do it',
    },
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'a request that is answered with a 404 or 500',
    async run({ open, answers, sent, side }) {
      const queue = open()
      await push(queue, 'a', 'b')
      answers(404, 500)
      await queue.replayRequests()
      return [sent.length, await queue.size(), await side.givenUp(queue)]
    },
    seen: [2, 0, 0],
    differs: {
      seen: [2, 0, 2],
      workbox: 'counts as delivered, and is lost',
      redrive: 'is sent once, too, and kept as a dead letter',
      why: 'it was not done: `retryQueue.deadLetters` shows it, and puts it back',
    },
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'a request to the site itself carries',
    async run({ open, sent }) {
      const queue = open()
      await push(queue, 'a')
      await queue.replayRequests()
      return sent.map(({ headers }) => Object.keys(headers))
    },
    seen: [['content-type']],
    differs: {
      seen: [['content-type', 'idempotency-key']],
      workbox: 'what it had',
      redrive: 'also an `Idempotency-Key`, the same with each attempt',
      why: 'a lost answer is no second order where the server honours the key',
    },
  },
  {
    about: 'replayRequests',
    needsSync: true,
    name: 'a request to another origin is sent without a header of the library’s',
    async run({ open, sent }) {
      const queue = open()
      await queue.pushRequest({ request: made() })
      await queue.replayRequests()
      return sent.map(({ headers }) => Object.keys(headers).filter((name) => name !== 'content-type'))
    },
    seen: [['x-foo']],
  },
]

const browsing: readonly Case[] = [
  {
    about: 'registerSync',
    name: 'resolves, whether or not the browser has Background Sync',
    run: ({ open }) => failure(open({ onSync: () => {} }).registerSync()),
    seen: 'none',
  },
  {
    about: 'registerSync',
    name: 'resolves where the browser refuses',
    needsSync: true,
    async run({ open, refuse }) {
      refuse()
      return failure(open({ onSync: () => {} }).registerSync())
    },
    seen: 'none',
  },
  {
    about: 'registerSync',
    name: 'where the browser refuses, what is pushed',
    needsSync: true,
    async run({ open, refuse, sent }) {
      refuse()
      const queue = open()
      await push(queue, 'a')
      await emptied(queue)
      return sent.length
    },
    seen: 0,
    differs: {
      seen: 1,
      workbox: 'waits for good',
      redrive: 'is sent while the worker lives, and `degraded` says why',
      why: 'no sync will come',
    },
  },
]

const asking: readonly Case[] = [
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

const keeping: readonly Case[] = [
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

export const cases: readonly Case[] = [
  first,
  ...constructing,
  ...adding('pushRequest'),
  ...adding('unshiftRequest'),
  ...taking,
  ...replaying,
  ...browsing,
  ...asking,
  ...keeping,
]
