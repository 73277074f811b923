// What a store does for a runner, beside what BullMQ does for its workers: tasks are taken, and processed by runners that do nothing
// with them, so that all that is left is Redis and its client.
import * as bull from './bullmq.mjs'
import { inCalls, job, madeOf, storedTask } from './data.mjs'
import * as ours from './ours.mjs'
import { inTurns, metered } from './rounds.mjs'

const A_CALL = 200

async function onStore(redis, kind, work) {
  await redis.empty()
  const store = await ours.openStore(redis, kind)
  const figures = await work(store)
  await store.close()
  return figures
}

async function onBull(redis, work) {
  await redis.empty()
  const opened = await bull.openBull(redis)
  const figures = await work(opened)
  await opened.close()
  return figures
}

/** redrive with both clients, and by scripts instead of functions; BullMQ. */
const beside = (redis, ours, theirs, rounds) =>
  inTurns(
    {
      'redrive, ioredis': () => onStore(redis, 'ioredis', ours),
      'redrive, node-redis': () => onStore(redis, 'node-redis', ours),
      'redrive, by scripts': () => onStore(redis, 'scripts', ours),
      BullMQ: () => onBull(redis, theirs),
    },
    { rounds },
  )

/** `count` tasks in calls of `aCall`, of which each is waited for. */
export function enqueued(redis, count, { rounds, aCall = A_CALL }) {
  const mine = (store) => {
    const tasks = madeOf(count, () => storedTask())
    return metered(redis, count, () => inCalls(tasks, aCall, (part) => store.enqueue(part)))
  }
  const theirs = ({ queue }) => {
    const jobs = madeOf(count, () => job())
    const add = aCall === 1 ? ([{ name, data }]) => queue.add(name, data) : (part) => queue.addBulk(part)
    return metered(redis, count, () => inCalls(jobs, aCall, add))
  }
  return beside(redis, mine, theirs, rounds)
}

async function processedByUs(redis, store, count, { runners, end, attempts = 1, lanes = 1 }) {
  const tasks = madeOf(count, (i) => storedTask(`https://api${i % lanes}.example.test`))
  await inCalls(tasks, A_CALL, (part) => store.enqueue(part))
  return metered(redis, attempts * count, () => ours.process(store, { count, runners, end }))
}

/** `count` tasks that wait are processed. `fails`: each fails once before it succeeds. */
export function processed(redis, count, { rounds, runners = 1, fails = false }) {
  const attempts = fails ? 2 : 1
  const end = fails ? ours.failsOnce : ours.succeeds
  const mine = (store) => processedByUs(redis, store, count, { runners, end, attempts })
  const theirs = async (opened) => {
    const jobs = madeOf(count, () => job())
    await inCalls(jobs, A_CALL, (part) => opened.queue.addBulk(part))
    const workers = await bull.openWorkers(opened, { count, runners, ...(fails && { work: bull.failsOnce }) })
    const figures = await metered(redis, attempts * count, () => workers.start())
    await workers.close()
    return figures
  }
  return beside(redis, mine, theirs, rounds)
}

/** The same tasks in one lane, and in many. */
export function lanes(redis, count, many, { rounds }) {
  const inLanes = (lanes) => () => onStore(redis, 'ioredis', (store) => processedByUs(redis, store, count, { lanes }))
  return inTurns({ '1 lane': inLanes(1), [`${many.toLocaleString('en-US')} lanes`]: inLanes(many) }, { rounds })
}
