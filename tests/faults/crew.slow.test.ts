/** A process that has hardly started when all close ends as well as the others. */

import { setTimeout as after } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freshFolder } from '../folder.ts'
import { Crew } from './crew.ts'

const nobodyListens = { accepted() {}, refused() {}, unanswered() {} }

test.for([0, 50, 100, 150, 200, 300, 400])(
  'a process that is told to close %i ms after its start ends well',
  async (ms) => {
    const crew = new Crew({ url: 'http://127.0.0.1:9', folder: freshFolder(), seed: 1, concurrency: 1 }, nobodyListens)
    crew.start(0)
    await after(ms)
    await crew.close()
    expect(crew.deaths).toEqual([])
  },
)
