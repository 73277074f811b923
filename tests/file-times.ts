/** What each file takes of the processor, whatever else the machine does: a quick one may not take long (scripts/test/suites.mjs). */

import { appendFileSync, mkdirSync } from 'node:fs'
import { afterAll, expect } from 'vitest'

const folder = new URL('../target/test/', import.meta.url)
const began = process.cpuUsage()

afterAll(() => {
  const { user, system } = process.cpuUsage(began)
  mkdirSync(folder, { recursive: true })
  const line = JSON.stringify([expect.getState().testPath, (user + system) / 1_000])
  appendFileSync(new URL('file-times.ndjson', folder), `${line}\n`)
})
