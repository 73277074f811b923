/** Rows that other code of the site has written, at random, in the database of a real browser. */

import { expect, test } from 'vitest'
import type { TaskStore } from '../../../js/api/store.ts'
import { done } from '../../../js/stores/indexeddb/transact.ts'
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { chanceOf } from '../../js/rows/chance.ts'
import { spoilRest, spoilTask } from '../../js/rows/idb.ts'
import { claimOf, idOf, newTask, SUCCEEDED, settlementOf } from '../../js/store-contract/kit.ts'

const GOOD = 100
const HOSTILE = 20
const SEEDS = 5

export function rowRules(): void {
  for (let seed = 1; seed <= SEEDS; seed++) {
    test(`S20 whatever is in ${HOSTILE} rows, by seed ${seed}, the other tasks are claimed once each`, () =>
      story(seed))
  }
}

async function story(seed: number): Promise<void> {
  const name = `rows-${seed}-${Math.random()}`
  const chance = chanceOf(seed)
  const first = indexedDbStore({ name })
  const tasks = Array.from({ length: GOOD + HOSTILE }, (_, n) => newTask(n, { idempotencyKey: `key-${n}` }))
  await first.enqueue(tasks)
  await first.close()
  const database = await done(indexedDB.open(`redrive-${name}`))
  const changes: string[] = []
  for (let n = 0; n <= HOSTILE; n++) {
    const tx = database.transaction(['tasks', 'bodies', 'attempts', 'lanes', 'meta'], 'readwrite')
    const over = new Promise<void>((resolve) => {
      tx.oncomplete = () => resolve()
      tx.onabort = () => resolve()
    })
    // a value that no database takes leaves the row as it was
    const change = n < HOSTILE ? spoilTask(tx, idOf(GOOD + n), chance) : spoilRest(tx, chance)
    changes.push(await change.catch(String))
    await over
  }
  database.close()
  const store = indexedDbStore({ name })
  try {
    const claimed = await drained(store)
    const good = Array.from({ length: GOOD }, (_, n) => idOf(n))
    expect([claimed.filter((id) => good.includes(id)).sort(), changes]).toEqual([good, changes])
    await Promise.all(tasks.map(({ taskId }) => store.get(taskId)))
    await Promise.all(tasks.map(({ taskId }) => store.history?.(taskId)))
    await store.list({ limit: 200 })
  } finally {
    await store.close()
  }
}

async function drained(store: TaskStore): Promise<string[]> {
  const ids: string[] = []
  let settle: ReturnType<typeof settlementOf>[] = []
  for (let turns = 0; turns < 20; turns++) {
    const { claimed } = await store.turn({ owner: 'page', settle, renew: [], claim: claimOf({ limit: 50 }) })
    ids.push(...claimed.map(({ task }) => task.taskId))
    settle = claimed.map(({ lease }) => settlementOf(lease, SUCCEEDED))
  }
  return ids
}
