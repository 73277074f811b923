/**
 * `npm run test:faults -- workers`: a workerd that is killed and objects that are aborted while tasks are enqueued and
 * sent, and a server that fails on top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { setup } from '../../packaging/pack.ts'
import { type FaultOptions, type FlakyServer, startFlaky } from '../../servers/start.mjs'
import { Edge, type EdgeObject } from '../../workers/harness/edge.ts'
import { judge } from '../judge.ts'
import { chance } from '../options.ts'
import { conclude, drain, main, type Say, speaker, wait } from '../runner.ts'
import { Callers } from './callers.ts'
import { ofWorkers } from './objects.ts'
import { help, type Options, PRINCIPALS, readOptions, SHARDS } from './options.ts'

const FAULTS: FaultOptions = {
  share: 0.6,
  weights: { unavailable: 12, unavailable_retry_after: 1, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  maxFaults: 4,
  latencyMs: [10, 150],
  slowShare: 0.05,
  slowMs: 1_000,
}
/** Between two blows. */
const LEAST_MS = 200
const MOST_MS = 1_000
const ABORTS_A_KILL = 2
const LOOK_MS = 25
/** Longer than a lease, and whatever alarm comes after it. */
const STALLED_MS = 90_000

async function run(options: Options): Promise<void> {
  const startedAt = Date.now()
  const say = speaker()
  say(`seed ${options.seed}: ${options.tasks} calls, ${options.kills} kills`)
  setup()
  const server = await startFlaky({
    faults: { ...FAULTS, seed: options.seed },
    honoursKeys: options.break !== 'no-key',
  })
  try {
    await using edge = await Edge.start({ object: { breaker: false, retryBudget: false, concurrency: 6 } })
    const callers = new Callers(edge, server.url, options.tasks)
    const objects = PRINCIPALS.flatMap((principal) =>
      Array.from({ length: SHARDS }, (_, shard) => edge.object({ origin: server.url, principal, shard })),
    )
    await strike(options, edge, callers, objects, say)
    const drained = await leftAlone(callers, objects, say)
    await verdict(options, callers, objects, drained, server, Date.now() - startedAt)
  } finally {
    await server.close()
  }
}

/** Calls come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function strike(
  { kills, seed }: Options,
  edge: Edge,
  callers: Callers,
  objects: readonly EdgeObject[],
  say: Say,
): Promise<void> {
  const random = chance(seed)
  const blows = kills * (1 + ABORTS_A_KILL)
  for (let blow = 0; blow < blows; blow++) {
    const endsAt = Date.now() + LEAST_MS + random() * (MOST_MS - LEAST_MS)
    callers.call((blow + 1) / blows)
    while (Date.now() < endsAt) await wait(LOOK_MS)
    const pick = random()
    if (blow % (1 + ABORTS_A_KILL) < ABORTS_A_KILL) {
      await objects[Math.floor(pick * objects.length)]?.abort()
      continue
    }
    // some are asked for when it happens
    callers.call((blow + 1.2) / blows)
    await edge.kill()
    await edge.start()
    say(`${(blow + 1) / (1 + ABORTS_A_KILL)} of ${kills} kills, ${callers.accepted.size} accepted`)
  }
}

/** Time, and no more calls: alarms do the rest. True once nothing is left. */
async function leftAlone(callers: Callers, objects: readonly EdgeObject[], say: Say): Promise<boolean> {
  callers.call(1)
  await callers.answered()
  const look = async () => {
    const depth = await depthOf(objects)
    return { isDone: depth === 0, state: [depth], words: `left alone: ${depth} of ${callers.accepted.size} to go` }
  }
  return await drain(look, { stalledMs: STALLED_MS, say, lookMs: LOOK_MS * 10 })
}

async function depthOf(objects: readonly EdgeObject[]): Promise<number> {
  let depth = 0
  for (const object of objects) depth += (await object.ask<{ readonly depth: number }>('stats')).depth
  return depth
}

async function verdict(
  options: Options,
  { accepted, done, refused, unknown }: Callers,
  objects: readonly EdgeObject[],
  drained: boolean,
  server: FlakyServer,
  tookMs: number,
): Promise<void> {
  const held = new Map<string, string>()
  const threw: string[] = []
  for (const object of objects) {
    for (const { taskId, status } of await object.list()) held.set(taskId, status)
    for (const alarm of (await object.look()).alarms) if (alarm.threw !== null) threw.push(alarm.threw)
  }
  const seen = await server.report({ visits: true })
  const facts = { accepted, done, held, depth: await depthOf(objects), drained, threw, report: seen }
  const figures: readonly (readonly [string, number | string, string])[] = [
    ['calls', options.tasks, ''],
    ['answered by the API at once', done.length, ''],
    ['enqueued, 202', accepted.size, ''],
    ['given their own failure', refused.length, 'no object took them in time'],
    ['told nothing', unknown.length, 'their process was killed'],
    ['SIGKILLs of workerd', options.kills, ''],
    ['objects aborted', options.kills * ABORTS_A_KILL, ''],
    ['attempts', seen.attempts, `${seen.injected.total} failed on purpose`],
    ['work done, answer lost', seen.injected.byKind.reset_after ?? 0, ''],
    ['seconds', (tookMs / 1000).toFixed(1), ''],
  ]
  conclude(figures, judge(ofWorkers(facts)))
}

await main('faults', { help, read: readOptions }, run)
