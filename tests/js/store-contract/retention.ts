import { expect, test } from 'vitest'
import { ENDED_BYTES } from '../../../js/api/store.ts'
import { idOf, type Open, SUCCEEDED, setup, TERMS, times } from './kit.ts'

/** Who ends how many tasks, one after another, and which of them are left of at most so many. `null`: no principal; before a bare colon: that of no letters. */
const CASES = [
  [20, 'ann:10 bob:30', '1-10 31-40'],
  [20, 'bob:30 ann:10', '21-40'],
  [20, 'bob:30 null:10', '21-40'],
  [7, 'ann:4 bob:5 eve:3', '3-4 8-12'],
  [6, 'null:4 ann:4 :1', '3-4 6-9'],
  [0, 'ann:2 bob:1', '0-0'],
  [3, 'ann:3', '1-3'],
] as const

export function retentionRules(open: Open): void {
  test.for(
    CASES.flatMap(([most, ended, left]) =>
      (['maxDeadLetters', 'maxTerminal'] as const).map((limit) => ({ limit, most, ended, left })),
    ),
  )(
    'S17 $limit $most: of $ended the principal that has most loses its oldest, and others nothing',
    async ({ limit, most, ended, left }) => {
      const { add, store, turn, pass } = await setup(open, { retention: { ...TERMS.retention, [limit]: most } })
      const principals = ended.split(' ').flatMap((each) => {
        const [name = '', count] = each.split(':')
        return times(Number(count), name === 'null' ? null : name)
      })
      await add(...principals.map((principal) => ({ principal, dueInMs: 9_000 })))
      for (const [i] of principals.entries()) {
        await store.cancel(idOf(i + 1), limit === 'maxDeadLetters' ? 'vetoed' : undefined)
        pass(1)
      }
      const { trimmed = [] } = await turn()
      const all = principals.map((principal, i) => ({ taskId: idOf(i + 1), principal }))
      const spans = left.split(' ').map((span) => span.split('-').map(Number))
      const isLeft = (_: unknown, i: number) => spans.some(([from = 0, to = 0]) => i + 1 >= from && i + 1 <= to)
      const kept = (await store.list({ limit: 100 })).tasks.map(({ taskId, principal }) => ({ taskId, principal }))
      expect(kept).toEqual(all.filter(isLeft))
      const gone = all.filter((each, i) => !isLeft(each, i))
      const byId = (a: { taskId: string }, b: { taskId: string }) => (a.taskId < b.taskId ? -1 : 1)
      expect(trimmed.toSorted(byId)).toEqual(limit === 'maxDeadLetters' ? gone : [])
      expect(await turn()).not.toHaveProperty('trimmed')
    },
  )

  test('S17 what has succeeded or was cancelled takes the room that bodies leave, and keeps no new task out', async () => {
    const kit = await setup(open, { capacityBytes: 5 * ENDED_BYTES, capacity: 99 })
    const { add, store, turn, pass, lease, settle } = kit
    const ids = async () => (await store.list({ limit: 99 })).tasks.map(({ taskId }) => taskId)
    await add(...['ann', 'ann', 'ann', 'ann', 'bob', 'bob'].map((principal) => ({ principal, dueInMs: 9_000 })))
    for (let n = 1; n <= 6; n++) {
      await store.cancel(idOf(n))
      pass(1)
    }
    await turn()
    // 6 of them where 5 may be: of ann, who has most, the oldest
    expect(await ids()).toEqual([2, 3, 4, 5, 6].map(idOf))
    // so large that bodies leave nothing
    const body = new Uint8Array(5 * ENDED_BYTES)
    await add({ body, dueInMs: 9_000 })
    await store.cancel(idOf(7))
    await add({ body: body.subarray(0, 3 * ENDED_BYTES - 1) })
    await turn()
    expect(await ids()).toEqual([4, 6, 8].map(idOf))
    await settle(await lease(), SUCCEEDED)
    await turn()
    expect(await ids()).toEqual([4, 6, 8].map(idOf))
    expect(await store.counts()).toMatchObject({ succeeded: 1, cancelled: 2, purged: 5, bytes: 0 })
  })
}
