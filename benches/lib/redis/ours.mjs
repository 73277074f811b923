// redrive's store in Redis: its calls as a queue makes them, without the queue.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { folder } from '../package.mjs'
import { claimOf, ROOM } from '../tasks.mjs'
import { KEPT_DONE, WAIT_MS } from './data.mjs'

const built = join(folder, 'redis.js')
export const isBuilt = existsSync(built)
const { redisStore } = await import(
  isBuilt ? pathToFileURL(built).href : new URL('../../../js/stores/redis.ts', import.meta.url).href
)

const DAY_MS = 86_400_000
const terms = {
  ...ROOM,
  maxLaneHoldMs: 60_000,
  retention: { terminalMs: DAY_MS, maxTerminal: KEPT_DONE, deadLetterMs: DAY_MS, maxDeadLetters: 1_000_000 },
}

/** The store works on duplicates of what it is given, which stays as it is: without a connection. */
const clients = {
  ioredis: ({ address }) => new Redis({ ...address, lazyConnect: true }),
  /** A user who may not call functions. */
  scripts: ({ address }) => new Redis({ ...address, username: 'scripts', password: '-', lazyConnect: true }),
  'node-redis': ({ url }) => createClient({ url }).on('error', () => {}),
}

let names = 0

/** A store without tasks, connected. */
export async function openStore(redis, kind = 'ioredis') {
  const store = redisStore({ client: clients[kind](redis), subscriber: null, name: `bench-${++names}` })
  store.configure(terms)
  await store.counts()
  return store
}

export const openQueueStore = (redis, kind = 'ioredis') =>
  redisStore({ client: clients[kind](redis), name: `bench-${++names}` })

const endingOf = ({ task: { taskId, attemptNumber }, lease }, { status, next }) => ({
  lease,
  log: {
    taskId,
    attemptNumber,
    startedAt: Date.now(),
    durationMs: 1,
    responseStatus: status,
    errorMessage: null,
    decision: `${status}`,
  },
  next,
})

const done = { status: 200, next: { kind: 'succeeded' } }
const again = {
  status: 503,
  next: { kind: 'retry', delayMs: WAIT_MS, serverMs: 0, carry: { phase: -1, previousDelayMs: WAIT_MS, marks: 0 } },
}
const unsent = { status: 200, next: { kind: 'release', delayMs: 0, refund: true } }

export const succeeds = (claimed) => endingOf(claimed, done)
export const failsOnce = (claimed) => endingOf(claimed, claimed.task.attemptNumber === 1 ? again : done)
export const givesBack = (claimed) => endingOf(claimed, unsent)

/** Turns that settle what the one before claimed, until `count` tasks have succeeded, in `runners` at a time. */
export async function process(store, { count, runners = 1, limit = 64, end = succeeds, attempt = () => {} }) {
  let left = count
  const run = async (owner) => {
    let settle = []
    while (left > 0) {
      const { claimed, nextInMs } = await store.turn({ owner, settle, renew: [], claim: claimOf({ limit }) })
      settle = claimed.map(end)
      for (const { next } of settle) if (next.kind === 'succeeded') left--
      attempt(claimed.length)
      // the other runners have the rest
      if (claimed.length === 0 && left > 0) await sleep(Math.max(1, Math.min(nextInMs ?? 1, 20)))
    }
    await store.turn({ owner, settle, renew: [], claim: null })
  }
  await Promise.all(Array.from({ length: runners }, (_, i) => run(`runner-${i}`)))
}
