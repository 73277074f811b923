/** Laws about real time run alone, and each says what the machine did meanwhile. */

import { appendFileSync, mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { afterEach } from 'vitest'

const folder = new URL('../target/test/', import.meta.url)

afterEach(({ task }) => {
  const tookMs = Math.round(Date.now() - (task.result?.startTime ?? Number.NaN))
  mkdirSync(folder, { recursive: true })
  appendFileSync(new URL('timed.txt', folder), `${task.name}: ${tookMs} ms, load ${loadavg()[0]?.toFixed(1)}\n`)
})
