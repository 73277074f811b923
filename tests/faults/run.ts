/**
 * `npm run test:faults`: queue processes on one SQLite file, killed and frozen while they work, and a server that fails on
 * top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { join } from 'node:path'
import { Blows } from './blows.ts'
import { Crew } from './crew.ts'
import { gather } from './evidence.ts'
import { FAULTS, framed } from './frame.ts'
import { judge } from './judge.ts'
import { leftAlone } from './left-alone.ts'
import { CONCURRENCY, chance, help, LEASE_MS, type Options, PROCESSES, readOptions } from './options.ts'
import { ofProcesses } from './processes.ts'
import { Producer } from './producer.ts'
import { conclude, main, type Say, speaker, TELL_MS, wait } from './runner.ts'
import { takeoverRun } from './takeover-run.ts'

const LOOK_MS = 25

async function run(options: Options): Promise<void> {
  const startedAt = Date.now()
  const say = speaker()
  const { tasks, kills, takeovers, seed, breaks } = options
  say(`seed ${seed}: ${tasks} tasks, ${PROCESSES} processes, ${kills} kills`)
  // an answer that takes longer than a lease makes its renewal count
  const faults = { ...FAULTS, slowMs: 1.6 * LEASE_MS }
  const leaves = 'The file and what each process wrote down'
  await framed({ name: 'faults', faults, seed, breaks, leaves }, async (server, folder) => {
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
      return conclude(figures, judge(ofProcesses(facts)))
    } finally {
      await crew.end()
    }
  })
  if (takeovers > 0) await takeoverRun(options, say)
}

/** Tasks come in as the blows fall, so that there is work under each of them however fast the machine is. */
async function strike({ tasks, kills, seed }: Options, crew: Crew, producer: Producer, say: Say): Promise<void> {
  const blows = new Blows(crew, chance(seed))
  let toldAt = Date.now()
  while (crew.kills < kills) {
    // the first tenth comes at once
    producer.give(0.1 + (0.9 * crew.kills) / kills, (order) => crew.give(order))
    await wait(LOOK_MS)
    const now = Date.now()
    blows.fall(now)
    if (now >= toldAt + TELL_MS) {
      toldAt = now
      const acknowledged = `${producer.acknowledged.size} of ${tasks} tasks acknowledged`
      say(`${acknowledged}, ${crew.kills} of ${kills} kills, ${crew.freezes} freezes`)
    }
  }
}

await main('faults', { help, read: readOptions }, run)
