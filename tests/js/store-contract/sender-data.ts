import { expect, test } from 'vitest'
import { type NewTask, PLAIN_SCHEMA, RECORD_SCHEMA } from '../../../js/api/store.ts'
import { claimOf, idOf, kitFor, NOT_RETRYABLE, newTask, type Open, retryIn, SUCCEEDED } from './kit.ts'

const FACTS = { callback: { url: 'https://b.test/é', on: ['end', null] }, n: 0.5, yes: true }

/** The rules of what a sender keeps with its task, and of the version that says so. */
export function senderDataRules(open: Open): void {
  const { add, claim, enqueue, get, lease, settle, store, turn } = kitFor(open)
  test('facts of the sender come back whole wherever the task is shown, for as long as it is here', async () => {
    await add({ senderData: FACTS }, { senderData: FACTS, tells: true })
    const { claimed } = await turn({ claim: claimOf() })
    for (const { task } of claimed) expect(task.senderData).toEqual(FACTS)
    expect(claimed.map(({ task }) => task.tells)).toEqual([undefined, true])
    const [one, two] = claimed
    if (!one || !two) throw new Error('two are due')
    await settle(one.lease, SUCCEEDED)
    await settle(two.lease, NOT_RETRYABLE)
    expect(await get(idOf(1))).toMatchObject({ status: 'SUCCEEDED', senderData: FACTS, schema: RECORD_SCHEMA })
    expect((await store.list({ limit: 9 })).tasks.map(({ senderData }) => senderData)).toEqual([FACTS, FACTS])
    expect((await store.find('key-2'))?.senderData).toEqual(FACTS)
    const policies = [{ policyId: 'default', maxAttempts: 9 }]
    await store.redrive([idOf(2)], { spacingMs: 0, acceptDuplicateRisk: false, policies })
    const [again] = await claim()
    expect(again?.task).toMatchObject({ taskId: idOf(2), senderData: FACTS, tells: true, policy: { maxAttempts: 9 } })
  })

  test('they are a copy, and nobody else has a part of it', async () => {
    const senderData = { list: [1] }
    await enqueue(newTask(1, { senderData }))
    senderData.list.push(2)
    await settle(await lease(), retryIn(1_000))
    expect((await get(idOf(1))).senderData).toEqual({ list: [1] })
  })

  test('a task without them is of the first version, as ever, and has no such property', async () => {
    await add({})
    const task = await get(idOf(1))
    expect(task.schema).toBe(PLAIN_SCHEMA)
    expect([Object.hasOwn(task, 'senderData'), Object.hasOwn(task, 'tells')]).toEqual([false, false])
  })

  test.for<[string, Partial<NewTask>]>([
    ['schema', { senderData: FACTS, schema: PLAIN_SCHEMA }],
    ['schema', { tells: true, schema: PLAIN_SCHEMA }],
    ['senderData', { senderData: [1] as never }],
    ['senderData', { senderData: 'x' as never }],
    ['tells', { tells: 1 as never, schema: RECORD_SCHEMA }],
  ])(
    'S20 a task whose %s an earlier version would take for another is refused, and nothing is stored',
    async ([field, wrong]) => {
      await expect(store.enqueue([newTask(1), newTask(2, wrong)])).rejects.toThrow(
        new RegExp(`^task\\.${field}: expected`),
      )
      expect((await store.counts()).pending).toBe(0)
    },
  )

  test('S20 a record of a later version is left alone, whatever it tells', async () => {
    await add({ tells: true, schema: RECORD_SCHEMA + 1, deadlineInMs: 10 })
    expect(await turn({ claim: claimOf() })).toMatchObject({ claimed: [], unreadable: 1 })
    expect((await store.untold?.(9)) ?? []).toEqual([])
  })
}
