/** Enqueues that arrive together share one transaction. */
import { expect, test } from 'vitest'
import { RECORD_SCHEMA } from '../../../js/api/store.ts'
import { claimOf, idOf, newTask } from '../store-contract/kit.ts'
import { asked, freshName, openStore } from './setup.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

test.for([
  [100, 1],
  [1_000, 4],
] as const)('%i at once are %i transactions: few, and yet the page runs in between', async ([count, expected]) => {
  const store = openStore(freshName())
  await store.enqueue([newTask(5_000)])
  const { transactions } = await asked(() => Promise.all(range(count).map((n) => store.enqueue([newTask(n)]))))
  expect(transactions).toBe(expected)
  expect(await store.counts()).toMatchObject({ pending: count + 1 })
})

test('what arrives while a transaction is open goes together into the next', async () => {
  const store = openStore(freshName())
  await store.enqueue([newTask(1_000)])
  const { transactions } = await asked(async () => {
    const turn = store.turn({ owner: 'runner', settle: [], renew: [], claim: claimOf() })
    const first = store.enqueue([newTask(1)])
    await Promise.resolve()
    const others = range(9).map((n) => store.enqueue([newTask(n + 1)]))
    await Promise.all([turn, first, ...others])
  })
  expect(transactions).toBe(2)
})

test('each has the answers to its own tasks', async () => {
  const store = openStore(freshName())
  const lease = { owner: 'runner', leaseMs: 1_000, total: 1 }
  const calls = [
    store.enqueue([newTask(1), newTask(2)], lease),
    store.enqueue([newTask(1), newTask(3, { idempotencyKey: 'key-2' })]),
    store.enqueue([]),
    store.enqueue([newTask(4, { idempotencyKey: 'key-2', fingerprint: 'other' })]),
  ]
  expect(await Promise.all(calls)).toEqual([
    [
      { taskId: idOf(1), outcome: 'stored', lease: { taskId: idOf(1), token: 1, forMs: 1_000 } },
      { taskId: idOf(2), outcome: 'stored' },
    ],
    [
      { taskId: idOf(1), outcome: 'duplicate' },
      { taskId: idOf(2), outcome: 'duplicate' },
    ],
    [],
    [{ taskId: idOf(2), outcome: 'conflict' }],
  ])
})

// of a later version: one of this is refused before it comes so far
const schema = RECORD_SCHEMA + 1

test.for([
  ['cannot be stored', { schema, policy: { policyId: 'p', bad: () => {} } as never }, 'DataCloneError'],
  ['has an id that is none', { schema, taskId: null as never }, 'DataError'],
] as const)('one that %s fails alone', async ([, bad, name]) => {
  const store = openStore(freshName())
  const answers = await Promise.allSettled(
    range(5).map((n) => store.enqueue([newTask(n, n === 3 ? bad : {}), newTask(n + 10)])),
  )
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(answers[2]).toMatchObject({ reason: { name } })
  expect((await store.list({ limit: 99 })).tasks.map(({ taskId }) => taskId)).toEqual(
    [1, 2, 4, 5, 11, 12, 14, 15].map(idOf),
  )
  expect(await store.counts()).toMatchObject({ pending: 8 })
})
