/** What a replay sends, and what the browser is asked. */
import { bodies, type Case, failure, post } from '../kit.ts'
import { emptied, MINUTE_MS, made, push } from './helpers.ts'

export const replaying: readonly Case[] = [
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

export const browsing: readonly Case[] = [
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
