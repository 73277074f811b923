// A store on a small disk, to which more tasks come than there is room for, and all of them succeed. One line says what became of them.
// It has to be run where it may mount.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { sqliteStore } from '../../../js/stores/sqlite.ts'
import { fillDisk } from './small-disk.ts'
import { claimOf, taskOf } from './words.ts'

const [folder = '', way = ''] = process.argv.slice(2)
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', folder])
const everyone = way.endsWith('for everyone')
const retention = { maxTerminal: 1_000_000, terminalMs: 86_400_000 }
const store = sqliteStore({
  path: join(folder, 'tasks.db'),
  ...(everyone && { everyone }),
  ...{ retention, capacity: 100_000, capacityBytes: 2 ** 31 },
})

let last = 0
const log = { attemptNumber: 1, startedAt: 0, durationMs: 1, responseStatus: 200, errorMessage: null } as const
/** So many more tasks succeed. Says how many were refused. */
async function succeed(count: number, principal: string | null): Promise<number> {
  let refused = 0
  for (let from = 0; from < count; from += 64) {
    const lane = principal === null ? 'https://api.test' : `https://api.test ${principal}`
    const tasks = Array.from({ length: 64 }, () => taskOf(++last, { principal, lane }))
    try {
      await store.enqueue(tasks)
    } catch {
      refused += tasks.length
      continue
    }
    const step = { owner: 'one', settle: [], renew: [] }
    const { claimed } = await store.turn({ ...step, claim: { ...claimOf(64), principal } })
    const [kind, next] = ['succeeded', { kind: 'succeeded' }]
    const settle = claimed.map(({ lease }) => ({ lease, log: { ...log, kind }, next }))
    await store.turn({ ...step, settle: settle as never, claim: null })
  }
  return refused
}

const few = everyone ? await succeed(320, 'ann') : 0
const bob = everyone ? 'bob' : null
const refused = [few, await succeed(way.startsWith('filled') ? 6_400 : 16_000, bob)]
if (way.startsWith('filled')) {
  fillDisk(join(folder, 'filler'))
  refused.push(await succeed(3_200, bob))
}
const { succeeded, purged, pending, inFlight } = await store.counts()
const { tasks } = everyone ? await store.list({ principal: 'ann', status: 'SUCCEEDED', limit: 1_000 }) : { tasks: [] }
await store.close()
process.stdout.write(
  `${JSON.stringify({ refused, all: succeeded + purged, open: pending + inFlight, gave: purged > 0, kept: succeeded > 0, anns: tasks.length })}\n`,
)
process.exit(0)
