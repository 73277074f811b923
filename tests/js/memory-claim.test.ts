// What a claim of the store in memory costs: it is the contract's oracle, and what `--store memory` runs on.
import { expect, test, vi } from 'vitest'
import { Rows } from '../../js/stores/memory/rows.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { claimOf, newTask, ORIGIN } from './store-contract/kit.ts'

const LANES = 200
const TASKS = 1_000

test('a claim among many tasks asks once about each lane, and goes over all lanes no more often than it gives leases', async () => {
  const store = memoryStore({ everyone: true })
  await store.enqueue(Array.from({ length: TASKS }, (_, n) => newTask(n, { principal: `tenant ${n % LANES}` })))
  const asked = vi.spyOn(Rows.prototype, 'isPaused')
  const scans = vi.spyOn(Map.prototype, 'values')
  const limits = [{ origins: ORIGIN, concurrency: 64, sharedBy: 'origin' }] as const
  const claim = claimOf({ limit: 100, total: 200, perLane: 64, perFree: 4, limits })
  const turn = await store.turn({ owner: 'me', settle: [], renew: [], claim })
  // each question about a lane goes over the pauses
  const counts = { asked: asked.mock.calls.length, scans: scans.mock.calls.length - asked.mock.calls.length }
  vi.restoreAllMocks()
  expect([turn.claimed.length, turn.blockedByLimit]).toEqual([64, true])
  // for the claim, and for what its turn shows
  expect(counts.asked).toBeLessThanOrEqual(2 * LANES)
  expect(counts.scans).toBeLessThanOrEqual(64)
})
