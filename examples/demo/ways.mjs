/** What `npm run demo` shows: one run, or two on different stores. */
import { pauseLeftMs } from './board.js'
import { placeOrders, queueOptions } from './calls.js'
import { placeAndKill } from './kill.mjs'

/** `RetryQueue`: of the built package. */
export async function waysOf({ kill, redis, service }, { RetryQueue }) {
  const onRedis = redis ? await redisParts() : undefined
  if (service) return servedWays(onRedis?.parts.binary)
  const from = kill ? ', from a queue that is killed half-way' : redis ? ', from four processes that share a Redis' : ''
  const here = { place: (all) => placeHere(new RetryQueue(queueOptions), all) }
  const place = onRedis ?? (kill ? { place: placeAndKill } : here)
  return {
    linesToTry,
    ways: [{ title: `to a server that fails three times in ten${from}`, enqueued: kill || redis, ...place }],
  }
}

const linesToTry = ['npm run demo -- --inspect   # a queue like this one, and each of its tasks, in a browser']

/** Only who asks for it needs a Redis, and a Node that reads TypeScript. */
async function redisParts() {
  const { findRedis, placeAndKillRedis } = await import('./redis.mjs')
  return { place: placeAndKillRedis, parts: { binary: await findRedis() }, isStoreKilled: true }
}

async function placeHere(queue, { server, board, showPause }) {
  board.follow(queue)
  showPause(() => pauseLeftMs(queue))
  const accepted = await placeOrders(queue, server.url, board)
  await queue.idle()
  await queue.close()
  return accepted
}

/** `binary`: a redis-server, where there is to be a second run on it. */
async function servedWays(binary) {
  const { awayFaults, concurrency, linesToTry, placeThroughService, redisOfItsOwn, sqliteFile } = await import(
    './service.mjs'
  )
  const on = (store, openStore) => ({
    title: `to a shop that is down and then fails one time in three, by a retry service with two workers on ${store}`,
    enqueued: true,
    place: placeThroughService,
    parts: { openStore },
    faults: awayFaults,
    concurrency,
  })
  const ways = [on('SQLite', sqliteFile)]
  if (binary) ways.push(on('Redis', () => redisOfItsOwn(binary)))
  return { ways, linesToTry }
}
