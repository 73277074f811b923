/** A process that has hardly started when all close ends as well as the others. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Crew } from './crew.ts'

const nobodyListens = { accepted() {}, refused() {}, unanswered() {} }

test.for([0, 50, 100, 150, 200, 300, 400])(
  'a process that is told to close %i ms after its start ends well',
  async (ms) => {
    const folder = await mkdtemp(join(tmpdir(), 'redrive-crew-'))
    try {
      const crew = new Crew({ url: 'http://127.0.0.1:9', folder, seed: 1, concurrency: 1 }, nobodyListens)
      crew.start(0)
      await after(ms)
      await crew.close()
      expect(crew.deaths).toEqual([])
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)
