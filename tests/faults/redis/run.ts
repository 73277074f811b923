/**
 * `npm run test:faults -- redis`: queue processes on one Redis, killed and frozen while they work; that Redis killed, emptied of its
 * scripts, full, and cut off from them; and a server that fails on top of it. Exit code 0 only if nothing was lost that was
 * promised to survive, and nothing took effect twice.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import type { TaskStore } from '../../../js/api/store.ts'
import { Blows } from '../blows.ts'
import { Crew } from '../crew.ts'
import { FAULTS, framed } from '../frame.ts'
import { judge } from '../judge.ts'
import { chance, LEASE_MS } from '../options.ts'
import { conclude, drain, main, type Say, speaker, TELL_MS, wait, within } from '../runner.ts'
import { redisPackage } from './built.ts'
import { Callers } from './callers.ts'
import { gather } from './evidence.ts'
import { ofRedis, type Sample } from './laws.ts'
import { Nemesis } from './nemesis.ts'
import { help, type Options, readOptions } from './options.ts'
import { type RedisSetting, STORE } from './requests.ts'
import { Servers } from './servers.ts'

const PROCESSES = 4
const CONCURRENCY = 6
const PER_ORIGIN = 4
const START_MS = 20_000
const LEAST_RUNNING = 2
const LOOK_MS = 25
const SAMPLE_MS = 400
/** Nothing has changed for so long: it will not. */
const STALLED_MS = 30_000
/** Two leases, the longest wait, the pause that a server asks for and the longest answer; and as much for a machine with other work. */
const MAY_STAND_STILL_MS = 2 * (2 * LEASE_MS + 400 + 2_000 + 1.6 * LEASE_MS)

const program = fileURLToPath(new URL('./member.ts', import.meta.url))

async function run(options: Options): Promise<void> {
  const startedAt = Date.now()
  const say = speaker()
  const { tasks, kills, 'redis-kills': redisKills, failovers, seed, break: breaks, fsync, only, valkey } = options
  const random = chance(seed)
  say(
    `seed ${seed}: ${tasks} tasks, ${PROCESSES} processes, ${kills} kills, ${redisKills} of Redis (${fsync}), ${failovers} failovers`,
  )
  // an answer that takes longer than a lease makes its renewal count
  const faults = { ...FAULTS, weights: { ...FAULTS.weights, refused: 2 }, slowMs: 1.6 * LEASE_MS }
  const leaves = 'What each process and all callers wrote down'
  await framed({ name: 'faults', faults, seed, breaks, leaves }, async (server, folder) => {
    const logs = join(folder, 'processes')
    mkdirSync(logs)
    const history = join(folder, 'history.ndjson')
    const setting = { appendonly: true, appendfsync: fsync, ...(valkey !== undefined && { binary: valkey }) }
    const servers = await Servers.start(setting, { hasReplica: failovers > 0, forgets: breaks === 'no-file' })
    const nemesis = new Nemesis(servers, chance(seed ^ 0x9e3779b9), only, history)
    const callers = new Callers(tasks, seed, history)
    const asked: RedisSetting = {
      redisPort: servers.front.port,
      concurrencyPerOrigin: PER_ORIGIN,
      replicas: failovers > 0 ? 1 : 0,
      breaks,
    }
    const member = { url: server.url, folder: logs, seed, concurrency: CONCURRENCY, ...asked }
    const crew = new Crew(member as never, callers, { program })
    const { redisStore } = await redisPackage()
    const client = new Redis({ host: '127.0.0.1', port: servers.front.port, lazyConnect: true })
    const store = redisStore({ client, name: STORE, subscriber: null })
    const samples: Sample[] = []
    try {
      for (let place = 0; place < PROCESSES; place++) crew.start(place)
      await strike(options, { crew, callers, nemesis, random, say, sample: () => sample(store, callers, samples) })
      await crew.leaveOne()
      const left = () => leftAlone(crew, callers, store, say)
      const first = await left()
      const redriven = await putBack(store)
      const then = first.drained ? await left() : first
      await crew.close()
      const { facts, figures } = await gather(
        {
          ...{ crew, callers, servers, nemesis, store, samples, redriven, fsync, folder: logs },
          drained: first.drained && then.drained,
          stoodStillMs: Math.max(first.stoodStillMs, then.stoodStillMs),
          mayStandStillMs: MAY_STAND_STILL_MS,
          tookMs: Date.now() - startedAt,
          limit: CONCURRENCY,
          limitPerLane: PER_ORIGIN,
        },
        server,
      )
      return conclude(figures, judge(ofRedis(facts)))
    } finally {
      await crew.end()
      await store.close()
      await servers.end()
    }
  })
}

interface Field {
  readonly crew: Crew
  readonly callers: Callers
  readonly nemesis: Nemesis
  readonly random: () => number
  readonly say: Say
  readonly sample: () => Promise<void>
}

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function strike(options: Options, { crew, callers, nemesis, random, say, sample }: Field): Promise<void> {
  const { tasks, kills, 'redis-kills': redisKills, failovers, minutes: seconds } = options
  await within(START_MS, () => crew.running === PROCESSES)
  const startedAt = Date.now()
  const blows = new Blows(crew, random)
  const share = (done: number, all: number) => (all === 0 ? 1 : Math.min(1, done / all))
  const ofServer = () => share(nemesis.count('kill') + nemesis.count('failover'), redisKills + failovers)
  const progress = () => Math.min(share(crew.kills, kills), ofServer(), share(Date.now() - startedAt, seconds * 1_000))
  let isOver = false
  const server = async () => {
    while (!isOver) {
      await wait(blows.between())
      if (isOver) return
      // what befalls a server that has taken nothing yet shows nothing; a slow machine may take its time
      if (callers.acknowledged === 0 && Date.now() < startedAt + START_MS) continue
      const isBehind = ofServer() < 1 && ofServer() <= Math.min(share(crew.kills, kills), 0.999)
      if (!isBehind) await nemesis.strike()
      else if (share(nemesis.count('failover'), failovers) < share(nemesis.count('kill'), redisKills))
        await nemesis.failover()
      else await nemesis.kill()
    }
  }
  const samples = async () => {
    while (!isOver) {
      await wait(SAMPLE_MS)
      await sample()
    }
  }
  const others = Promise.all([server(), samples()])
  others.catch((error) => {
    say(`the blows have ended: ${error}`)
    isOver = true
  })
  let toldAt = Date.now()
  while (progress() < 1 && !isOver) {
    // the first tenth comes at once
    callers.give(0.1 + 0.9 * progress(), (order) => crew.give(order))
    await wait(LOOK_MS)
    const now = Date.now()
    // one that is starting is struck too, but not all that there are
    if ((crew.kills < kills || seconds > 0) && crew.running >= LEAST_RUNNING) blows.fall(now)
    if (now >= toldAt + TELL_MS) {
      toldAt = now
      say(
        `${callers.acknowledged} of ${tasks} tasks acknowledged, ${crew.kills} of ${kills} kills, ${nemesis.count('kill')} of Redis, ${nemesis.count('failover')} failovers, ${nemesis.troubles.length} troubles in all`,
      )
    }
  }
  isOver = true
  await others
}

async function sample(store: TaskStore, callers: Callers, samples: Sample[]): Promise<void> {
  const { acknowledged } = callers
  try {
    const { pending, inFlight, succeeded, exhausted, cancelled, purged } = await store.counts()
    const total = pending + inFlight + succeeded + exhausted + cancelled + purged
    const asked = callers.calls.filter(({ request }) => request.kind !== 'cancel').length
    samples.push({ acknowledged, asked, total })
  } catch {
    // it is not there; what it has counted is seen later
  }
}

/** Time, and no more blows. */
async function leftAlone(
  crew: Crew,
  callers: Callers,
  store: TaskStore,
  say: Say,
): Promise<{ readonly drained: boolean; readonly stoodStillMs: number }> {
  let [last, movedAt, stoodStillMs] = ['', Date.now(), 0]
  const look = async () => {
    callers.give(1, (order) => crew.give(order))
    // after the last blow its own connection comes back as others' do
    const counts = await store.counts().catch(() => undefined)
    const { pending = 1, inFlight = 0, succeeded = 0, exhausted = 0, cancelled = 0 } = counts ?? {}
    const state = [callers.calls.length, pending, inFlight, succeeded, exhausted, cancelled]
    stoodStillMs = Math.max(stoodStillMs, Date.now() - movedAt)
    if (state.join() !== last) movedAt = Date.now()
    last = state.join()
    return {
      isDone: callers.done && pending + inFlight === 0,
      state,
      words: `one process left alone: ${succeeded} succeeded, ${pending + inFlight} to go`,
    }
  }
  const drained = await drain(look, { stalledMs: STALLED_MS, say, lookMs: LOOK_MS })
  return { drained, stoodStillMs }
}

/** What was given up is tried once more: what became of each. */
async function putBack(store: TaskStore): Promise<ReadonlyMap<string, string>> {
  const { tasks } = await store.list({ status: 'EXHAUSTED', limit: 1_000 })
  const ids = tasks.map(({ taskId }) => taskId)
  const said = ids.length === 0 ? [] : await store.redrive(ids, { spacingMs: 10, acceptDuplicateRisk: false })
  return new Map(ids.map((id, i) => [id, said[i] ?? 'nothing']))
}

await main('faults', { help, read: readOptions }, run)
