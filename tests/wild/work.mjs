// What every server of the table does for a request: it notes that it ran, takes its time at first, and fails as often as it is asked.
import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export const port = Number(process.env.PORT)
export const host = '127.0.0.1'

/** `ms`: the time that the first run takes; `failures`: how many runs are answered with 503. */
export async function work({ id = 'none', ms = 0, failures = 0 } = {}) {
  appendFileSync(process.env.LEDGER, `${id}\n`)
  const run = readFileSync(process.env.LEDGER, 'utf8')
    .split('\n')
    .filter((line) => line === id).length
  if (run === 1 && ms > 0) await sleep(ms)
  return { status: run <= failures ? 503 : 201, body: { id, run } }
}
