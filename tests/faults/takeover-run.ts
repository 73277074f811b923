/**
 * Processes as users have them, with leases and looks of the usual length, killed one by one: how soon do the others go on?
 * There is room for all that comes, so that a task that is taken back does not wait for others.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FaultOptions, startFlaky } from '../servers/start.mjs'
import type { Check } from './checks.ts'
import { Crew } from './crew.ts'
import { gather } from './evidence.ts'
import { judge } from './judge.ts'
import { leftAlone } from './left-alone.ts'
import { chance, type Options, PROCESSES } from './options.ts'
import { ofProcesses } from './processes.ts'
import { Producer } from './producer.ts'
import { conclude, type Say, wait, within } from './runner.ts'
import { judgeTakeovers, P99_MS, takeoversOf } from './takeover.ts'

const CONCURRENCY = 32
const FAULTS: FaultOptions = {
  share: 0.1,
  weights: { unavailable: 20, unavailable_retry_after: 0, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  // there is always something in flight
  latencyMs: [400, 1_200],
  slowShare: 0,
  slowMs: 0,
}
const PER_SECOND = 14
/** Before the first blow, and between a process that is back and the next. */
const CALM_MS = 500
/** One that is killed is missing for so long: others have to notice. */
const MISSING_MS = P99_MS + 500
const START_MS = 20_000
const LOOK_MS = 25

export async function takeoverRun({ takeovers, seed }: Options, say: Say): Promise<readonly Check[]> {
  const startedAt = Date.now()
  const folder = mkdtempSync(join(tmpdir(), 'redrive-takeover-'))
  const random = chance(seed)
  const server = await startFlaky({ faults: { ...FAULTS, seed }, honoursKeys: true })
  const tasks = Math.ceil((takeovers * (MISSING_MS + 2 * CALM_MS) * PER_SECOND) / 1_000)
  const producer = new Producer(tasks, join(folder, 'acknowledged'))
  const member = { url: server.url, folder, seed, concurrency: CONCURRENCY, isAsUsed: true }
  const crew = new Crew(member, producer, { startAgainMs: MISSING_MS })
  const struck = new Map<string, number>()
  let feedFrom = Number.NaN
  const feeding = setInterval(() => {
    if (crew.running > 0 && Number.isNaN(feedFrom)) feedFrom = Date.now()
    const share = Math.min(1, ((Date.now() - feedFrom) * PER_SECOND) / 1_000 / tasks) || 0
    producer.give(share, (order) => crew.give(order))
  }, LOOK_MS)
  try {
    for (let place = 0; place < PROCESSES; place++) crew.start(place)
    for (let kills = 0; kills < takeovers; kills++) {
      await within(START_MS, () => crew.running === PROCESSES)
      await wait(CALM_MS + random() * CALM_MS)
      crew.kill(random())
      for (const [life, at] of crew.killed) struck.set(life, at)
      await wait(P99_MS)
    }
    say(`${takeovers} processes killed one by one`)
    const drained = await leftAlone(crew, producer, folder, say, 'all processes left alone')
    clearInterval(feeding)
    await crew.close()
    producer.close()
    const story = { crew, producer, drained, folder, tookMs: Date.now() - startedAt, limit: CONCURRENCY }
    const { facts, figures } = await gather(story, server)
    const times = takeoversOf({ ...facts, killed: struck })
    const measured = judgeTakeovers('killed processes', times)
    return conclude([...figures, ...measured.figures], [...judge(ofProcesses(facts)), ...measured.checks])
  } finally {
    clearInterval(feeding)
    await crew.end()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
