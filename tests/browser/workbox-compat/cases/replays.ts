/** What a replay sends, and what the browser is asked. */
import { bodies, type Case, casesOf, failure, post } from '../kit.ts'
import { emptied, MINUTE_MS, made, push } from './helpers.ts'

export const replaying: readonly Case[] = casesOf({ about: 'replayRequests', needsSync: true }, [
  {
    name: 'sends all requests of its queue in order, and none of another queue',
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
    name: 'removes delivered requests, and none of another queue',
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
    name: 'does not send expired requests',
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
      workbox: 'the replay ends; it and all behind it wait for the next sync',
      redrive: 'it waits for its backoff, the others are sent, and it is sent again',
      why: 'one request that never gets through would block all others',
    },
  },
  {
    name: 'rejects with `queue-replay-failed` if requests are left',
    async run({ open, answers }) {
      const queue = open()
      await push(queue, 'a')
      answers(...Array.from({ length: 20 }, () => 'lost' as const))
      return [await failure(queue.replayRequests()), await queue.size()]
    },
    seen: ['queue-replay-failed', 1],
  },
  {
    name: 'a request that is answered with 503',
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
      workbox: 'counts as delivered and is deleted',
      redrive: 'is sent again, no sooner than `Retry-After` allows; the same with 429, 502 and 504',
      why: 'the server asks for another attempt',
    },
  },
  {
    name: 'a request that is answered with 404 or 500',
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
      workbox: 'counts as delivered and is deleted',
      redrive: 'is not sent again either, but kept as a dead letter',
      why: 'it failed: `retryQueue.deadLetters` lists it and can send it again',
    },
  },
  {
    name: 'the headers of a request to the site’s own origin',
    async run({ open, sent }) {
      const queue = open()
      await push(queue, 'a')
      await queue.replayRequests()
      return sent.map(({ headers }) => Object.keys(headers))
    },
    seen: [['content-type']],
    differs: {
      seen: [['content-type', 'idempotency-key']],
      workbox: 'those it had',
      redrive: 'those it had and an `Idempotency-Key`, the same in each attempt',
      why: 'a lost answer does not become a second order, if the server honours the key',
    },
  },
  {
    name: 'a request to another origin gets no header from the library',
    async run({ open, sent }) {
      const queue = open()
      await queue.pushRequest({ request: made() })
      await queue.replayRequests()
      return sent.map(({ headers }) => Object.keys(headers).filter((name) => name !== 'content-type'))
    },
    seen: [['x-foo']],
  },
])

export const browsing: readonly Case[] = casesOf({ about: 'registerSync' }, [
  {
    name: 'resolves, whether or not the browser has Background Sync',
    run: ({ open }) => failure(open({ onSync: () => {} }).registerSync()),
    seen: 'none',
  },
  {
    name: 'resolves if the browser refuses',
    needsSync: true,
    async run({ open, refuse }) {
      refuse()
      return failure(open({ onSync: () => {} }).registerSync())
    },
    seen: 'none',
  },
  {
    name: 'a request that is pushed when the browser refuses syncs',
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
      workbox: 'waits until a later sync is granted',
      redrive: 'is sent while the worker runs; `degraded` reports the refusal',
      why: 'there may never be one',
    },
  },
])
