/**
 * `npm run test:faults -- workers`: a workerd that is killed and objects that are aborted while tasks are handed over and
 * sent, and a server that fails on top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { setup } from '../../packaging/pack.ts'
import { type FaultOptions, type FlakyServer, startFlaky } from '../../servers/start.mjs'
import { Edge, type EdgeObject } from '../../workers/harness/edge.ts'
import { chance } from '../options.ts'
import { report } from '../report.ts'
import { Callers } from './callers.ts'
import { judge } from './judge.ts'
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
const TELL_MS = 5_000

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (!options) return void process.stdout.write(help)
  const startedAt = Date.now()
  say(startedAt, `seed ${options.seed}: ${options.tasks} calls, ${options.kills} kills`)
  setup()
  const server = await startFlaky({
    faults: { ...FAULTS, seed: options.seed },
    honoursKeys: options.breaks !== 'no-key',
  })
  try {
    await using edge = await Edge.start({ object: { breaker: false, retryBudget: false, concurrency: 6 } })
    const callers = new Callers(edge, server.url, options.tasks)
    const objects = PRINCIPALS.flatMap((principal) =>
      Array.from({ length: SHARDS }, (_, shard) => edge.object({ origin: server.url, principal, shard })),
    )
    await strike(options, edge, callers, objects, startedAt)
    const drained = await drain(callers, objects, startedAt)
    await conclude(options, callers, objects, drained, server, Date.now() - startedAt)
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
  startedAt: number,
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
    say(startedAt, `${(blow + 1) / (1 + ABORTS_A_KILL)} of ${kills} kills, ${callers.accepted.size} accepted`)
  }
}

/** Time, and nobody who calls: alarms do the rest. True once nothing is left. */
async function drain(callers: Callers, objects: readonly EdgeObject[], startedAt: number): Promise<boolean> {
  callers.call(1)
  await callers.answered()
  let last = -1
  let movedAt = Date.now()
  let toldAt = Date.now()
  while (Date.now() < movedAt + STALLED_MS) {
    const depth = await depthOf(objects)
    if (depth === 0) return true
    if (depth !== last) movedAt = Date.now()
    last = depth
    if (Date.now() > toldAt + TELL_MS) {
      toldAt = Date.now()
      say(startedAt, `left alone: ${depth} of ${callers.accepted.size} to go`)
    }
    await wait(LOOK_MS * 10)
  }
  return false
}

async function depthOf(objects: readonly EdgeObject[]): Promise<number> {
  let depth = 0
  for (const object of objects) depth += (await object.ask<{ readonly depth: number }>('stats')).depth
  return depth
}

async function conclude(
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
  const checks = judge({ accepted, done, held, depth: await depthOf(objects), drained, threw, report: seen })
  const figures: readonly (readonly [string, number | string, string])[] = [
    ['calls', options.tasks, ''],
    ['answered by the API at once', done.length, ''],
    ['handed over, 202', accepted.size, ''],
    ['given their own failure', refused.length, 'no object took them in time'],
    ['told nothing', unknown.length, 'their process was killed'],
    ['SIGKILLs of workerd', options.kills, ''],
    ['objects aborted', options.kills * ABORTS_A_KILL, ''],
    ['attempts', seen.attempts, `${seen.injected.total} failed on purpose`],
    ['work done, answer lost', seen.injected.byKind.reset_after ?? 0, ''],
    ['seconds', (tookMs / 1000).toFixed(1), ''],
  ]
  process.stdout.write(`${report(figures, checks)}\n`)
  if (checks.some(({ ok }) => !ok)) process.exitCode = 1
}

function say(startedAt: number, text: string): void {
  process.stdout.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${text}\n`)
}

await main().catch((error) => {
  process.stderr.write(`faults: ${error instanceof RangeError ? error.message : error.stack}\n`)
  process.exit(1)
})
