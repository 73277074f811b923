/**
 * `npm run test:faults`: queue processes on one SQLite file, killed and frozen while they work, and a server that fails on
 * top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FaultOptions, startFlaky } from '../servers/start.mjs'
import { Crew } from './crew.ts'
import { gather } from './evidence.ts'
import { judge } from './judge.ts'
import { leftAlone } from './left-alone.ts'
import { CONCURRENCY, chance, FREEZE_MS, help, LEASE_MS, type Options, PROCESSES, readOptions } from './options.ts'
import { ofProcesses } from './processes.ts'
import { Producer } from './producer.ts'
import { conclude, main, type Say, speaker, TELL_MS, wait } from './runner.ts'
import { takeoverRun } from './takeover-run.ts'
import { MOMENTS, type Moment } from './watched-store.ts'

/** An answer that takes longer than a lease makes its renewal count; one that asks for a pause holds up all, so there are few. */
const FAULTS: FaultOptions = {
  share: 0.3,
  weights: { unavailable: 20, unavailable_retry_after: 1, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  latencyMs: [10, 90],
  slowShare: 0.03,
  slowMs: 1.6 * LEASE_MS,
}
/** Between two blows. */
const LEAST_MS = 150
const MOST_MS = 900
/** Of the blows, how many freeze and do not kill, and how many kill at a chosen moment, or at any once that is late. */
const FREEZE_SHARE = 0.25
const AIM_SHARE = 0.4
const AIM_MS = 1_500
const LOOK_MS = 25

async function run(options: Options): Promise<void> {
  const startedAt = Date.now()
  const say = speaker()
  const folder = mkdtempSync(join(tmpdir(), 'redrive-faults-'))
  const { tasks, kills, takeovers, seed, breaks } = options
  say(`seed ${seed}: ${tasks} tasks, ${PROCESSES} processes, ${kills} kills`)
  const server = await startFlaky({ faults: { ...FAULTS, seed }, honoursKeys: breaks !== 'no-key' })
  const producer = new Producer(tasks, join(folder, 'acknowledged'))
  const crew = new Crew({ url: server.url, folder, seed, breaks, concurrency: CONCURRENCY }, producer)
  try {
    for (let place = 0; place < PROCESSES; place++) crew.start(place)
    await strike(options, crew, producer, say)
    await crew.leaveOne()
    const drained = await leftAlone(crew, producer, folder, say, 'one process left alone')
    await crew.close()
    producer.close()
    const story = { crew, producer, drained, folder, tookMs: Date.now() - startedAt, limit: CONCURRENCY }
    const { facts, figures } = await gather(story, server)
    conclude(figures, judge(ofProcesses(facts)))
    if (takeovers > 0) await takeoverRun(options, say)
  } finally {
    await crew.end()
    await server.close()
    if (process.exitCode && !breaks) process.stdout.write(`The file and what each process wrote down: ${folder}\n`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function strike({ tasks, kills, seed }: Options, crew: Crew, producer: Producer, say: Say): Promise<void> {
  const random = chance(seed)
  const between = () => LEAST_MS + random() * (MOST_MS - LEAST_MS)
  let nextAt = Date.now() + between()
  let toldAt = Date.now()
  while (crew.kills < kills) {
    // the first tenth comes at once
    producer.give(0.1 + (0.9 * crew.kills) / kills, (order) => crew.give(order))
    await wait(LOOK_MS)
    const now = Date.now()
    if (now >= nextAt) {
      nextAt = now + between()
      const [pick, how, where] = [random(), random(), random()]
      if (how < FREEZE_SHARE) crew.freeze(pick, FREEZE_MS)
      else if (how < FREEZE_SHARE + AIM_SHARE)
        crew.aim(pick, MOMENTS[Math.floor(where * MOMENTS.length)] as Moment, AIM_MS)
      else crew.kill(pick)
    }
    if (now >= toldAt + TELL_MS) {
      toldAt = now
      const acknowledged = `${producer.acknowledged.size} of ${tasks} tasks acknowledged`
      say(`${acknowledged}, ${crew.kills} of ${kills} kills, ${crew.freezes} freezes`)
    }
  }
}

await main('faults', { help, read: readOptions }, run)
