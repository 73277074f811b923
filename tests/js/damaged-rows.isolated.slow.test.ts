/** Rows, counters and clocks that are damaged or forged: what is believed of them, in each storage. */

import { describe, expect, test } from 'vitest'
import type { NewTask, TaskStore, Turn } from '../../js/api/store.ts'
import { RECORD_SCHEMA } from '../../js/api/store.ts'
import { type FakeClock, fakeClock } from '../../js/testing.ts'
import { PLACES, type StoragePlace } from './rows/places.ts'
import { claiming, succeeded, taskOf } from './sqlite/words.ts'

const DAY = 86_400_000
const idOf = (n: number): string => taskOf(n).taskId
const idsOf = ({ claimed }: Turn): string[] => claimed.map(({ task }) => task.taskId).sort()
const claim = (store: TaskStore, limit = 99): Promise<Turn> => store.turn(claiming(limit))

type Change = (place: StoragePlace, clock: FakeClock) => unknown

/** `tasks`, left by an earlier process, and changed by other code. */
async function setup(makePlace: () => StoragePlace, tasks: readonly NewTask[], change: Change) {
  const clock = fakeClock()
  const place = makePlace()
  const first = place.open(clock)
  await first.enqueue(tasks)
  await first.close()
  await change(place, clock)
  return { clock, place, store: place.open(clock) }
}

/** The first of two tasks is claimed, and the second when it is due. */
async function goesOn(store: TaskStore, clock: FakeClock): Promise<void> {
  expect(await claim(store)).toMatchObject({ ended: [], claimed: [{ task: { taskId: idOf(1) } }] })
  await clock.advance(1_001)
  expect(idsOf(await claim(store))).toEqual([idOf(2)])
}
const LATER = [taskOf(1), taskOf(2, { dueInMs: 1_000 })]

describe.for(Object.entries(PLACES))('%s', ([kind, makePlace]) => {
  const left = (tasks: readonly NewTask[], change: Change) => setup(makePlace, tasks, change)

  test.for([
    ['seq', 2 ** 53 - 2],
    ['seq', 2 ** 52 + 1],
    ['seq', 2 ** 52],
    ['seq', 2 ** 51],
    ['token', 2 ** 53 - 2],
    ['token', 2 ** 52 + 1],
    ['token', 2 ** 52],
    ['token', 2 ** 51 + 1],
    ['token', 2 ** 51],
  ] as const)(
    'S1 a row whose %s is %d leaves room to count: later tasks are accepted and sent',
    async ([name, value]) => {
      const { clock, place, store } = await left([taskOf(1), taskOf(2), taskOf(3)], async (place) => {
        await place.change(idOf(1), { [name]: value })
        await place.changeState({ pending: 9 })
      })
      await store.enqueue([taskOf(4)])
      expect(idsOf(await claim(store))).toEqual(expect.arrayContaining([2, 3, 4].map(idOf)))
      await store.close()
      // counters that are wrong again are taken from the tasks again
      await place.changeState({ pending: 9 })
      const again = place.open(clock)
      await again.enqueue([taskOf(5)])
      await clock.advance(31_000)
      expect(idsOf(await claim(again))).toEqual(expect.arrayContaining([2, 3, 4, 5].map(idOf)))
      const { settled } = await again.turn({
        ...claiming(0),
        settle: (await claim(again)).claimed.map(({ lease }) => succeeded(lease)),
        claim: null,
      })
      expect(new Set(settled)).not.toContain('repeated')
    },
  )

  test.for(['lastSeq', 'lastToken', 'lastServed', ...(kind === 'IndexedDB' ? ['version'] : ['lastRow', 'clockSteps'])])(
    'S1 a counter of 2^52 - 1 leaves room to count, too: %s',
    async (name) => {
      const { clock, place, store } = await left([taskOf(1)], (place) => place.changeState({ [name]: 2 ** 52 - 1 }))
      await store.enqueue([taskOf(2), taskOf(3)])
      await store.close()
      const again = place.open(clock)
      await again.enqueue([taskOf(4)])
      expect(idsOf(await claim(again))).toEqual([1, 2, 3, 4].map(idOf))
    },
  )

  test.runIf(kind !== 'IndexedDB').for([2 ** 53 - 2, 2 ** 52, 2 ** 51 + 1, 2 ** 51])(
    'S1 a task whose row is %d leaves room for later ones, whose bodies are kept, and is sent itself',
    async (row) => {
      const body = new TextEncoder().encode('one')
      const { clock, place, store } = await left([taskOf(1), taskOf(2)], (place) => place.change(idOf(1), { row }))
      for (const n of [3, 4]) await store.enqueue([taskOf(n, { body })])
      await store.close()
      const again = place.open(clock)
      await again.enqueue([taskOf(5, { body })])
      expect(idsOf(await claim(again))).toEqual([1, 2, 3, 4, 5].map(idOf))
      for (const n of [3, 4, 5]) expect(await again.body(idOf(n))).toEqual(body)
    },
  )

  test.for(['as it is', 'put aside'])('S20 a damaged row, %s, does not keep its key', async (how) => {
    const same = { idempotencyKey: 'inv-1' }
    const { store } = await left([taskOf(1, same)], (place) => place.damage(idOf(1)))
    if (how === 'put aside') expect(await claim(store)).toMatchObject({ claimed: [], unreadable: 1 })
    const other = { ...same, fingerprint: 'another' }
    expect(await store.enqueue([taskOf(2, other)])).toMatchObject([{ outcome: 'stored' }])
    expect(await store.enqueue([taskOf(3, other)])).toMatchObject([{ outcome: 'duplicate', taskId: idOf(2) }])
    expect(idsOf(await claim(store))).toEqual([idOf(2)])
    expect((await store.counts()).unreadable).toBe(1)
    expect(await store.purge({ taskId: idOf(1) })).toBe(1)
    expect((await store.find('inv-1', null))?.taskId).toBe(idOf(2))
  })

  test('S20 a task of a later version keeps its key, and an enqueue with it is told that it cannot be read', async () => {
    const later = { idempotencyKey: 'inv-1', schema: RECORD_SCHEMA + 1 }
    const { store } = await left([taskOf(1, later)], () => {})
    const answer = [{ outcome: 'unreadable', taskId: idOf(1) }]
    expect(await store.enqueue([taskOf(2, { idempotencyKey: 'inv-1' })])).toMatchObject(answer)
    await claim(store)
    expect(await store.enqueue([taskOf(3, { idempotencyKey: 'inv-1' })])).toMatchObject(answer)
    expect((await store.counts()).pending).toBe(1)
  })

  test.for(['head', 'middle'])('S19 S20 a damaged row holds up none of its order: the %s', async (which) => {
    const inOrder = { orderKey: 'c7' }
    const { store } = await left(
      [1, 2, 3, 4].map((n) => taskOf(n, inOrder)),
      (place) => place.damage(idOf(which === 'head' ? 1 : 2)),
    )
    const sent: string[] = []
    for (let turn = 0; turn < 5; turn++) {
      const { claimed } = await claim(store)
      sent.push(...claimed.map(({ task }) => task.taskId))
      await store.turn({ ...claiming(0), settle: claimed.map(({ lease }) => succeeded(lease)), claim: null })
    }
    expect(sent).toEqual([1, 2, 3, 4].filter((n) => n !== (which === 'head' ? 1 : 2)).map(idOf))
    await store.enqueue([taskOf(5, inOrder)])
    expect(idsOf(await claim(store))).toEqual([idOf(5)])
  })

  test('S19 S20 rows that no command can go by hold up none of their order, however many', async () => {
    const { store } = await left(
      [1, 2, 3, 4, 5].map((n) => taskOf(n, { orderKey: 'c7' })),
      async (place) => {
        for (const n of [1, 2, 4]) await place.change(idOf(n), { attemptNumber: -1 })
        await place.changeState({ pending: 9 })
      },
    )
    const first = await claim(store)
    expect(idsOf(first)).toEqual([idOf(3)])
    await store.turn({ ...claiming(0), settle: first.claimed.map(({ lease }) => succeeded(lease)), claim: null })
    expect(idsOf(await claim(store))).toEqual([idOf(5)])
    expect((await store.counts()).unreadable).toBe(3)
  })

  test.for([2 * 3_600_000, DAY, 330 * DAY])('S1 a lease that says it ends in %d ms has run out', async (forMs) => {
    const { store } = await left([taskOf(1), taskOf(2)], (place, clock) =>
      place.change(idOf(1), {
        status: 'IN_FLIGHT',
        owner: 'gone',
        token: 1,
        dueAt: null,
        leaseUntil: clock.now() + forMs,
      }),
    )
    expect(idsOf(await claim(store))).toEqual([1, 2].map(idOf))
  })

  test.for([2 * DAY, 300 * DAY])('S1 a lane that says it is held for %d ms is not', async (forMs) => {
    const { store } = await left([taskOf(1)], (place, clock) => {
      const until = clock.now() + forMs
      return place.changeLanes({ heldUntil: until, ...(kind !== 'IndexedDB' && { readyAt: until, lookAt: until }) })
    })
    expect(idsOf(await claim(store))).toEqual([idOf(1)])
  })

  test.for([2 * 3_600_000, 2 * DAY, 50 * 366 * DAY, 1e300])(
    'S1 a latest time that lies %d ms ahead ends no task for its deadline',
    async (aheadMs) => {
      const { store, clock } = await left(LATER, (place, clock) =>
        place.changeState({ highWater: clock.now() + aheadMs }),
      )
      await goesOn(store, clock)
    },
  )

  test.runIf(kind === 'IndexedDB').for([2 * DAY, 1e15, 1e18, 1e300, -1, -2 * DAY, -1e15, Number.NaN])(
    'S1 a store’s time that is said to be %d ms from the clock’s ends no task, and keeps none back',
    async (skewMs) => {
      const { store, clock } = await left(LATER, (place) => place.changeState({ skewMs }))
      await goesOn(store, clock)
    },
  )

  test('S1 a clock that was set back while no store was open takes what waits along', async () => {
    const clock = fakeClock()
    const wall = { ...clock, now: () => clock.now() + aheadMs } as FakeClock
    let aheadMs = 20 * DAY
    const place = makePlace()
    const first = place.open(wall)
    await first.enqueue(LATER)
    await first.close()
    aheadMs = 0
    await goesOn(place.open(wall), clock)
  })

  test.for([
    ['targetUrl', 'blob:https://api.test/6b1c'],
    ['targetUrl', 'filesystem:https://api.test/x'],
    ['targetUrl', `https://api.test/${'x'.repeat(2 ** 23)}`],
    ['method', 'A'.repeat(300)],
    ['fingerprint', 'x'.repeat(2 ** 18)],
    ['idempotencyKey', 'x'.repeat(2 ** 18)],
    ['owner', 'x'.repeat(2 ** 18)],
  ])('S20 a row whose %s no honest writer leaves is put aside', async ([name = '', value]) => {
    const { store } = await left([taskOf(1), taskOf(2)], (place) => place.change(idOf(1), { [name]: value }))
    expect(await claim(store)).toMatchObject({ claimed: [{ task: { taskId: idOf(2) } }] })
  })

  test('S17 a task whose texts are longer than a row’s may be is refused, not put aside later', async () => {
    const store = makePlace().open(fakeClock())
    await expect(store.enqueue([taskOf(1, { idempotencyKey: 'x'.repeat(2 ** 18) })])).rejects.toThrow(
      /task\.idempotencyKey/,
    )
    expect(await store.counts()).toMatchObject({ pending: 0 })
  })
})

describe('IndexedDB, which keeps arrays with holes', () => {
  const sparse = (): unknown[] => {
    const list: unknown[] = []
    list.length = 2 ** 32 - 1
    return list
  }

  const left = async (change: Change) =>
    (await setup(PLACES.IndexedDB as () => StoragePlace, [taskOf(1), taskOf(2)], change)).store

  test.for([
    ['withheldHeaders', sparse],
    ['headers', sparse],
    ['requestInit', sparse],
    ['requestInit', () => ({ integrity: sparse() })],
    ['policy', sparse],
    ['policy', () => ({ delaysMs: sparse() })],
    ['policy', () => ({ retryableStatusCodes: sparse() })],
    ['taskId', () => [sparse().length]],
    ['body', sparse],
    ...['schema', 'logged', 'noted', 'targetUrl', 'idempotencyKey', 'turnAt', 'token'].map(
      (name) => [name, sparse] as const,
    ),
  ] satisfies (readonly [string, () => unknown])[])(
    'S18 S20 a row whose %s is 2^32 - 1 holes is put aside at once',
    async ([name, value]) => {
      const store = await left((place) => place.change(idOf(1), { [name]: value() }))
      expect(idsOf(await claim(store)).includes(idOf(2))).toBe(true)
      expect((await store.list({ limit: 9 })).tasks.length).toBeLessThanOrEqual(2)
      await store.attempts(idOf(1), { limit: 9 })
      await store.history?.(idOf(1))
      await store.unreadable?.({ limit: 9 })
      expect((await store.counts()).pending).toBeLessThanOrEqual(2)
    },
  )

  test.for(['lanes', 'guards', 'queues'])(
    'S18 counters, or lanes, whose %s are 2^32 - 1 holes are made anew',
    async (name) => {
      const spoilt = { [name]: sparse() }
      const store = await left((place) => (name === 'queues' ? place.changeLanes(spoilt) : place.changeState(spoilt)))
      expect(await store.countsOf?.(null)).toMatchObject({ exhausted: 0 })
      expect(idsOf(await claim(store))).toEqual([1, 2].map(idOf))
    },
  )
})
