// Figures of the server alone: what a waiting task takes there, how long a claim lasts, and which script kept everybody waiting longest.
import { quantile } from '../measure.mjs'
import { claimOf } from '../tasks.mjs'
import * as bull from './bullmq.mjs'
import { inCalls, job, madeOf, storedTask } from './data.mjs'
import * as ours from './ours.mjs'

const HOUR_MS = 3_600_000
const A_CALL = 500

/** Bytes that Redis uses for each of `count` tasks that wait. */
export async function bytesEach(redis, count) {
  const taken = async (open, make, add) => {
    await redis.empty()
    // scripts, and buffers of connections: what is there once
    await (await open()).close()
    const before = await redis.memory()
    const opened = await open()
    await inCalls(madeOf(count, make), A_CALL, (part) => add(opened, part))
    await opened.close()
    return ((await redis.memory()) - before) / count
  }
  const ofStore = (more) =>
    taken(
      () => ours.openStore(redis),
      () => storedTask(undefined, more),
      (store, part) => store.enqueue(part),
    )
  const ofBull = (how) =>
    taken(
      () => bull.openBull(redis, how),
      () => job(),
      ({ queue }, part) => queue.addBulk(part),
    )
  return {
    'redrive, due': await ofStore({}),
    'redrive, due in an hour': await ofStore({ dueInMs: HOUR_MS }),
    'BullMQ, waiting': await ofBull({}),
    'BullMQ, delayed for an hour': await ofBull({ delayMs: HOUR_MS }),
  }
}

/** Milliseconds of claims of `limit` among `due` tasks: for the caller, of the script, and of Redis' processor. What is claimed is given back in between. */
export async function claims(redis, { due, limit = 64, count }) {
  await redis.empty()
  const store = await ours.openStore(redis)
  await inCalls(
    madeOf(due, () => storedTask()),
    A_CALL,
    (part) => store.enqueue(part),
  )
  const [calls, scripts] = [[], []]
  let micros = 0
  for (let i = -20; i < count; i++) {
    const tell = await redis.watchScripts()
    const before = await redis.cpuMicros()
    const start = performance.now()
    const { claimed } = await store.turn({ owner: 'bench', settle: [], renew: [], claim: claimOf({ limit }) })
    const took = performance.now() - start
    const spent = (await redis.cpuMicros()) - before
    const [script] = await tell()
    if (claimed.length !== limit) throw new Error(`${claimed.length} were claimed of ${limit}`)
    await store.turn({ owner: 'bench', settle: claimed.map(ours.givesBack), renew: [], claim: null })
    if (i < 0) continue
    calls.push(took)
    micros += spent
    scripts.push(script)
  }
  await store.close()
  const both = (list) => ({ p50: quantile(list, 0.5), p99: quantile(list, 0.99) })
  return { call: both(calls), script: both(scripts), cpuMs: micros / count / 1_000 }
}

/** Milliseconds of the scripts of a life: `count` tasks enqueued, and all of them processed. */
export async function scripts(redis, count) {
  await redis.empty()
  const store = await ours.openStore(redis)
  const measure = async (work) => {
    const tell = await redis.watchScripts()
    await work()
    const list = await tell()
    return { longest: list[0], p99: quantile(list, 0.99), p50: quantile(list, 0.5) }
  }
  const PART = 10_000
  const enqueue = await measure(async () => {
    for (let left = count; left > 0; left -= PART) {
      const tasks = madeOf(Math.min(PART, left), () => storedTask())
      await inCalls(tasks, A_CALL, (part) => store.enqueue(part))
    }
  })
  const turn = await measure(() => ours.process(store, { count }))
  await store.close()
  return { enqueue, turn }
}
