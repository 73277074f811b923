/** L4 by structure, not by time: what a turn asks of the file, and what it is given, is the same however many tasks are held. */

import { StatementSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import type { Claim, NewTask, TaskStore } from '../../js/api/store.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { claimOf, idsOf, newTask, SUCCEEDED, settlementOf } from './store-contract/kit.ts'

const HELD = 'https://held.test'
const ORIGINS = 50
const FEW = 3
const MANY = 1_000

interface Way {
  readonly task?: Partial<NewTask>
  readonly claim?: Partial<Claim>
  /** In flight at the held origin before the turns that count. */
  readonly running?: number
}

const WAYS: readonly (readonly [name: string, way: Way])[] = [
  ['its server asked to wait', { task: { holdLaneForMs: 60_000 } }],
  ['its breaker is open, or it is paused', { claim: { bounds: [{ lane: `${HELD} ann`, max: 0 }] } }],
  ['as many run there as may', { claim: { perLane: 2 }, running: 2 }],
  ['its user is not there', { task: { principal: 'ben', lane: `${HELD} ben` } }],
]

/** Statements run and rows read in turns that deliver what the other origins have. */
async function workOf({ task, claim, running = 0 }: Way, held: number): Promise<{ statements: number; rows: number }> {
  const store = openStore(freshPath())
  const own = { principal: 'ann', lane: `${HELD} ann` }
  await store.enqueue(Array.from({ length: held }, (_, n) => newTask(n, { origin: HELD, ...own, ...task })))
  const others = Array.from({ length: ORIGINS }, (_, n) =>
    newTask(MANY + n, { origin: `https://${n}.test`, principal: 'ann', lane: `https://${n}.test ann` }),
  )
  if (running > 0) await turn(store, { limit: running, ...claim }, [])
  await store.enqueue(others)
  const seen = counted()
  const first = await turn(store, { limit: ORIGINS, ...claim }, [])
  expect(new Set(idsOf(first.claimed))).toEqual(new Set(others.map(({ taskId }) => taskId)))
  await turn(
    store,
    { limit: ORIGINS, ...claim },
    first.claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED)),
  )
  return seen()
}

const turn = (store: TaskStore, claim: Partial<Claim>, settle: Parameters<TaskStore['turn']>[0]['settle']) =>
  store.turn({ owner: 'a', settle, renew: [], claim: claimOf({ principal: 'ann', ...claim }) })

/** Counts from now until it is asked. */
function counted(): () => { statements: number; rows: number } {
  const get = vi.spyOn(StatementSync.prototype, 'get')
  const all = vi.spyOn(StatementSync.prototype, 'all')
  const run = vi.spyOn(StatementSync.prototype, 'run')
  return () => {
    const statements = [get, all, run].reduce((sum, { mock }) => sum + mock.calls.length, 0)
    const rows = all.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0)
    for (const spy of [get, all, run]) spy.mockRestore()
    return { statements, rows }
  }
}

test.each(WAYS)('L4 a lane with many due tasks costs a turn what one with few costs: %s', async (_, way) => {
  const few = await workOf(way, FEW)
  expect(few.statements).toBeGreaterThan(ORIGINS)
  expect(await workOf(way, MANY)).toEqual(few)
})
