// From the store to the target: tasks that wait, of which every second one fails once before it succeeds. If all did, the target would
// fail whatever it gets while first attempts go on. A breaker takes that for an outage, and what it does then is no matter of speed.
import { fileURLToPath } from 'node:url'
import { openBull } from '../redis/bullmq.mjs'
import { inCalls, madeOf } from '../redis/data.mjs'
import { inTurns } from '../redis/rounds.mjs'
import { pastAll } from './lateness.mjs'
import { Program } from './program.mjs'
import { openService } from './service.mjs'
import { jobOf, poster, taskText } from './tasks.mjs'

const AT_ONCE = 64
/** A service without tokens may have several tenants, and leaves a fifth of the places to others. */
const PLACES = AT_ONCE / 0.8
const LIMITS = ['--concurrency', `${PLACES}`, '--concurrency-per-origin', `${PLACES}`]
const CONNECTIONS = 20
const A_CALL = 200
const FAILS_BUT = 2
const bullWorker = fileURLToPath(new URL('bull-worker.mjs', import.meta.url))

/** Share of the tasks that goes before what is measured: each process is a new one. */
const WARM_UP = 0.25

/** Lets `count` tasks go: attempts a second, and microseconds of each process for one. */
async function metered({ redis, target }, worker, count, start) {
  const used = async () => {
    const [own, redisMicros, { requests }] = await Promise.all([
      worker.usage(),
      redis.cpuMicros(),
      target.ask('counts'),
    ])
    return { at: performance.now(), node: own.cpuMicros, redis: redisMicros, requests }
  }
  await start()
  await pastAll(target, Math.floor(count * WARM_UP))
  const before = await used()
  await pastAll(target, count)
  const after = await used()
  const attempts = after.requests - before.requests
  const each = (name) => (after[name] - before[name]) / attempts
  return {
    rate: attempts / ((after.at - before.at) / 1_000),
    micros: each('node') + each('redis'),
    nodeMicros: each('node'),
    redisMicros: each('redis'),
  }
}

export function sent(arena, count, { rounds }) {
  const { redis, target, origin, stores } = arena
  const served = (openStore) => async () => {
    await target.ask('begin', { failsBut: FAILS_BUT })
    const service = await openService(openStore, { flags: LIMITS })
    const { pauseId } = await service.call('POST', '/pauses', {})
    const client = poster(service.url, CONNECTIONS)
    await client.all(count, (at) => [taskText(origin, at)])
    await client.close()
    const [worker] = service.processes
    const figures = await metered(arena, worker, count, () => service.call('DELETE', `/pauses/${pauseId}`))
    await service.close()
    return figures
  }
  const bullmq = (transport) => async () => {
    await redis.empty()
    await target.ask('begin', { failsBut: FAILS_BUT })
    const { name, queue, close } = await openBull(redis)
    const jobs = madeOf(count, (at) => jobOf(origin, at))
    await inCalls(jobs, A_CALL, (part) => queue.addBulk(part))
    const options = { name, address: redis.address, transport, concurrency: AT_ONCE }
    const worker = new Program(bullWorker, [JSON.stringify(options)], { isProfiled: true })
    await worker.ask('isReady')
    const figures = await metered(arena, worker, count, () => worker.ask('run'))
    await worker.stop()
    await close()
    return figures
  }
  return inTurns(
    {
      'redrive serve, SQLite': served(stores.SQLite),
      'redrive serve, Redis': served(stores.Redis),
      'BullMQ, fetch': bullmq('fetch'),
      'BullMQ, undici.request': bullmq('undici'),
    },
    { rounds, warmUp: 0 },
  )
}
