/** Before each file: the seed of its properties; after it, what it took of the processor (scripts/test/suites.mjs). */

import { appendFileSync, mkdirSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, expect } from 'vitest'
import { SIZE } from './size.ts'

// a run that fails says something of the change that it is for; each night finds new seeds
if (SIZE !== 'all') fc.configureGlobal({ seed: 20_261_128 })

const folder = new URL('../target/test/', import.meta.url)
const began = process.cpuUsage()

afterAll(() => {
  const { user, system } = process.cpuUsage(began)
  mkdirSync(folder, { recursive: true })
  const line = JSON.stringify([expect.getState().testPath, (user + system) / 1_000])
  appendFileSync(new URL('file-times.ndjson', folder), `${line}\n`)
})
