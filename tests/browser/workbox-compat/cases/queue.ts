/** What a queue does when it is made, and when the browser wakes it. */
import { bodies, type Case, casesOf, failure, type Kit, post } from '../kit.ts'
import { push } from './helpers.ts'

/** First of all, since Workbox's database is new then. */
export const first: Case = {
  about: 'unshiftRequest',
  name: 'three requests are unshifted, in a new database',
  async run({ open }) {
    const queue = open({ onSync: () => {} })
    await push(queue, 'd')
    for (const body of ['c', 'b', 'a']) await queue.unshiftRequest({ request: post(body) })
    return bodies(await queue.getAll())
  },
  seen: ['c', 'd', 'b', 'a'],
  differs: {
    seen: ['a', 'b', 'c', 'd'],
    workbox: 'the second and third become the last',
    redrive: 'each becomes the first',
    why: 'the first of them gets the id 0, which Workbox takes for no id',
  },
}

export const constructing: readonly Case[] = casesOf({ about: 'constructor' }, [
  {
    name: 'a second queue of the same name is an error; one of another name is not',
    async run({ side, fresh }) {
      const [one, other] = [fresh(), fresh()]
      side.open(one)
      const again = await failure((async () => side.open(one))())
      return [again, await failure((async () => side.open(other))())]
    },
    seen: ['duplicate-queue-name', 'none'],
  },
  {
    name: 'a sync with the queue’s own tag calls `onSync` with the queue; one with another tag does not',
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
    name: 'without `onSync`, a sync replays the queue',
    needsSync: true,
    async run({ open, sync, sent }) {
      const queue = open()
      await push(queue, 'a')
      return [await sync(queue), sent.map(({ body }) => body), await queue.size()]
    },
    seen: ['none', ['a'], 0],
  },
  {
    name: 'requests that are added during a sync register one more sync, after it has ended',
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
  ...(
    [
      ['after a sync that failed, none is registered: the browser repeats it', false, 0],
      ['after the last repetition failed, one is registered if requests were added', true, 1],
    ] as const
  ).map(([name, lastChance, registered]) => ({
    name,
    needsSync: true as const,
    async run({ open, sync, asked }: Kit) {
      const queue = open({
        async onSync({ queue: own }) {
          await push(own, 'a')
          throw new RangeError('sync failed')
        },
      })
      return [await sync(queue, { lastChance }), asked.length]
    },
    seen: ['RangeError', registered],
  })),
  {
    name: '`onSync` is called in the constructor if the browser has no Background Sync, and not otherwise',
    async run({ open }) {
      let calls = 0
      open({ onSync: () => void calls++ })
      return calls === ('sync' in (globalThis as unknown as { registration: object }).registration ? 0 : 1)
    },
    seen: true,
  },
  {
    name: 'with `forceSyncFallback`, `onSync` is called in the constructor',
    async run({ open }) {
      let calls = 0
      open({ onSync: () => void calls++, forceSyncFallback: true })
      return calls
    },
    seen: 1,
  },
  {
    name: 'an `onSync` throws something that is not an Error',
    needsSync: true,
    async run({ open, sync }) {
      const queue = open({ onSync: () => Promise.reject('why') })
      return sync(queue)
    },
    seen: 'none',
    differs: {
      seen: 'undefined',
      workbox: 'the sync counts as successful',
      redrive: 'the sync fails, and the browser repeats it',
      why: 'the requests are still there, whatever was thrown',
    },
  },
])
