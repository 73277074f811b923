/**
 * Processes as users have them, with leases and looks of the usual length, killed one by one: how soon do the others go on?
 * There is room for all that comes, so that a task that is taken back does not wait for others.
 */

import { join } from 'node:path'
import type { Check } from './checks.ts'
import { Crew } from './crew.ts'
import { gather } from './evidence.ts'
import { CALM_FAULTS, framed } from './frame.ts'
import { judge } from './judge.ts'
import { leftAlone } from './left-alone.ts'
import { chance, type Options, PROCESSES } from './options.ts'
import { ofProcesses } from './processes.ts'
import { Producer } from './producer.ts'
import { conclude, type Say, wait, within } from './runner.ts'
import { judgeTakeovers, P99_MS, takeoversOf } from './takeover.ts'

const CONCURRENCY = 32
const PER_SECOND = 14
/** Before the first blow, and between a process that is back and the next. */
const CALM_MS = 500
/** One that is killed is missing for so long: others have to notice. */
const MISSING_MS = P99_MS + 500
const START_MS = 20_000
const LOOK_MS = 25

export function takeoverRun({ takeovers, seed }: Options, say: Say): Promise<readonly Check[]> {
  const startedAt = Date.now()
  const random = chance(seed)
  const tasks = Math.ceil((takeovers * (MISSING_MS + 2 * CALM_MS) * PER_SECOND) / 1_000)
  const leaves = 'The file and what each process wrote down'
  return framed({ name: 'takeover', faults: CALM_FAULTS, seed, leaves }, async (server, folder) => {
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
      const measured = judgeTakeovers('killed processes', takeoversOf({ ...facts, killed: struck }))
      return conclude([...figures, ...measured.figures], [...judge(ofProcesses(facts)), ...measured.checks])
    } finally {
      clearInterval(feeding)
      await crew.end()
    }
  })
}
