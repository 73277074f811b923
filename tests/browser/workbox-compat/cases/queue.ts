/** What a queue does when it is made, and when the browser wakes it. */
import { bodies, type Case, failure, post } from '../kit.ts'
import { push } from './helpers.ts'

/** First of all, since Workbox's database is new then. */
export const first: Case = {
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

export const constructing: readonly Case[] = [
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
