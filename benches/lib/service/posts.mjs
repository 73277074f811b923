// POSTs alone: tasks that are due much later are taken, and none is sent.
import { fileURLToPath } from 'node:url'
import { median, quantile } from '../measure.mjs'
import { inTurns } from '../redis/rounds.mjs'
import { orLess } from '../smoke.mjs'
import { Program } from './program.mjs'
import { openService } from './service.mjs'
import { poster, taskText } from './tasks.mjs'

const LATER = { delayMs: 3_600_000 }
const CONNECTIONS = 50
const WARM_UP = orLess(5_000, 50)
const NOWHERE = 'http://127.0.0.1:9'
const at = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Whatever takes posted tasks, by name; each stays open for all rounds. */
async function openAll({ redis, stores }) {
  await redis.empty()
  const bull = new Program(at('bull-api.mjs'), [JSON.stringify({ address: redis.address })])
  const port = await bull.ask('open')
  const onRedis = await openService(stores.Redis, { roles: ['api'] })
  const onSqlite = await openService(stores.SQLite, { roles: ['api'] })
  const served = ({ url, processes: [process], close }) => ({ url, process, close })
  return {
    'redrive serve, SQLite': served(onSqlite),
    'redrive serve, Redis': served(onRedis),
    'node:http and BullMQ': { url: `http://127.0.0.1:${port}`, process: bull, close: () => bull.stop() },
  }
}

/** `count` POSTs on so many connections: those a second, milliseconds of one, microseconds of the processors. */
async function posted(redis, { url, process }, { count, connections }) {
  const client = poster(url, connections)
  const used = async () => [performance.now(), (await process.usage()).cpuMicros, await redis.cpuMicros()]
  const before = await used()
  const times = await client.all(count, (at) => [taskText(NOWHERE, at, LATER)])
  const [ms, nodeMicros, redisMicros] = (await used()).map((value, i) => value - before[i])
  await client.close()
  return {
    rate: (count * 1_000) / ms,
    ...{ p50: median(times), p99: quantile(times, 0.99) },
    ...{ nodeMicros: nodeMicros / count, redisMicros: redisMicros / count },
  }
}

export async function posts(arena, { count, connections, rounds, warmUp }) {
  const all = await openAll(arena)
  const contestants = Object.fromEntries(
    Object.entries(all).map(([name, each]) => [name, () => posted(arena.redis, each, { count, connections })]),
  )
  const figures = await inTurns(contestants, { rounds, warmUp })
  for (const { close } of Object.values(all)) await close()
  return figures
}

/** `seconds` of so many POSTs a second to a service on Redis, whose tasks are sent at once or later. */
export async function steady({ stores, target, origin }, { perSecond, seconds, isSent }) {
  const service = await openService(stores.Redis, { flags: ['--concurrency', '64', '--concurrency-per-origin', '64'] })
  await target.ask('begin')
  const client = poster(service.url, CONNECTIONS)
  const make = (at) => [taskText(origin, at, isSent ? {} : LATER)]
  // connections are made and code is compiled
  await client.all(WARM_UP, make)
  const times = await client.paced(perSecond * seconds, perSecond, make)
  await client.close()
  await service.close()
  return { p50: median(times), p99: quantile(times, 0.99), most: Math.max(...times) }
}
