import { expect, test } from 'vitest'
import type { Claim } from '../../../js/api/store.ts'
import { type Kit, kitFor, LEASE_MS, many, newTask, type Open, retryIn, SUCCEEDED, type Wanted } from './kit.ts'

/** One task to each of `count` origins. */
const wide = (principal: string | null, count: number, rest: Wanted = {}): Wanted[] =>
  many(count, (n) => ({ principal, origin: `https://o${n}.test`, ...rest }))

/** Whose turns come, one claim after another, as far as there are `most`; each task succeeds at once. */
async function turnsOf({ claim, settle }: Kit, most: number, given: Partial<Claim> = {}): Promise<(string | null)[]> {
  const seen: (string | null)[] = []
  while (seen.length < most) {
    const claimed = await claim({ limit: 1, ...given })
    if (claimed.length === 0) break
    for (const { task, lease } of claimed) {
      seen.push(task.principal)
      await settle(lease, SUCCEEDED)
    }
  }
  return seen
}

const countOf = (seen: readonly (string | null)[], principal: string | null): number =>
  seen.filter((each) => each === principal).length

/** Turns go by principal, then by lane: see `engine/turns.ts`. */
export function turnRules(open: Open): void {
  const kit = kitFor(open)
  test.for([
    ['to one origin', { principal: 'bob' }],
    ['to many', { principal: 'bob' }],
  ] as const)(
    'L4 of two that flood, one with hundreds of origins, each has every other turn, the other %s',
    async ([where]) => {
      await kit.add(...wide('ann', 300))
      await kit.add(...(where === 'to one origin' ? many(100, () => ({ principal: 'bob' })) : wide('bob', 100)))
      const seen = await turnsOf(kit, 100)
      expect(countOf(seen, 'bob')).toBe(50)
    },
  )

  test.for([1, 7, 64])(
    'L4 one task of a principal that had nothing to do comes before all of those that flood, %d at a time',
    async (limit) => {
      for (const each of ['ann', 'bob', 'carl', null]) await kit.add(...wide(each, 120))
      await turnsOf(kit, 40)
      await kit.add({ principal: 'dora', origin: 'https://new.test' })
      const seen = await turnsOf(kit, limit + 4, { limit })
      expect(seen.indexOf('dora')).toBe(0)
    },
  )

  test('L4 a principal that comes with a task as soon as its last has ended has one turn where each that floods has one', async () => {
    for (const each of ['ann', 'bob', 'carl']) await kit.add(...wide(each, 60))
    await turnsOf(kit, 40)
    const seen: (string | null)[] = []
    while (seen.length < 80) {
      if (seen.length === 0 || seen.at(-1) === 'dora')
        await kit.add({ principal: 'dora', origin: `https://n${seen.length}.test` })
      seen.push(...(await turnsOf(kit, 1)))
    }
    expect(Math.abs(countOf(seen, 'dora') - 20)).toBeLessThanOrEqual(1)
  })

  test.for([0, 1, 2])(
    'L4 new origins all the time gain a principal nothing, with %d tasks that wait beside each',
    async (more) => {
      await kit.add(...many(100, () => ({ principal: 'bob' })), ...wide('ann', more))
      const seen: (string | null)[] = []
      for (let n = 0; n < 60; n++) {
        await kit.add({ principal: 'ann', origin: `https://n${n}.test` })
        seen.push(...(await turnsOf(kit, 1)))
      }
      expect(Math.abs(countOf(seen, 'bob') - 30)).toBeLessThanOrEqual(1)
    },
  )

  test('who was idle, or was paused, comes first, and catches up on nothing', async () => {
    if (!kit.store.pauses) return
    await kit.add(...wide('ann', 60), ...wide('bob', 200))
    await kit.store.pauses.put({ id: 'p', principal: 'ann', at: 0 })
    expect(countOf(await turnsOf(kit, 100), 'bob')).toBe(100)
    await kit.store.pauses.lift('p')
    const annsTurns = async (): Promise<readonly [string | null | undefined, number]> => {
      const [first, ...then] = await turnsOf(kit, 41)
      return [first, countOf(then, 'ann')]
    }
    expect(await annsTurns()).toEqual(['ann', 20])
    await turnsOf(kit, 200)
    await kit.add(...wide('bob', 60), ...wide('ann', 60))
    expect(await annsTurns()).toEqual(['ann', 20])
  })

  test('who takes back what stood in line stands no farther behind for it', async () => {
    const ids = await kit.add(...wide('ann', 200))
    await kit.add(...wide('bob', 40))
    for (const id of ids) await kit.store.cancel(id)
    await kit.add({ principal: 'ann' })
    expect((await turnsOf(kit, 3)).indexOf('ann')).toBeGreaterThanOrEqual(0)
  })

  test('tasks that come due later, or are retried, have the turns of their principal and no more', async () => {
    await kit.add(...wide('ann', 80, { dueInMs: 1_000 }))
    await kit.add(...wide('bob', 200))
    expect(countOf(await turnsOf(kit, 50), 'bob')).toBe(50)
    const tried = await kit.claim({ limit: 20 })
    for (const { lease } of tried) await kit.settle(lease, retryIn(1_000))
    kit.pass(1_000)
    expect(countOf(await turnsOf(kit, 60), 'ann')).toBe(30)
  })

  test('a lane of one principal is served once before any other of its own is served twice', async () => {
    for (let n = 0; n < 3; n++) await kit.add(...wide('ann', 30), { principal: 'bob' })
    const origins: string[] = []
    for (let n = 0; n < 30; ) {
      const [first] = await kit.claim({ limit: 1 })
      if (!first) break
      if (first.task.principal === 'bob') continue
      origins.push(first.task.targetUrl)
      n++
    }
    expect(new Set(origins).size).toBe(30)
  })

  test('an urgent task comes first, and a flood of them takes no turn of others behind them', async () => {
    await kit.add(...wide('ann', 100), ...wide('bob', 100))
    await turnsOf(kit, 10)
    await kit.add(...wide('ann', 40, { priority: 1 }))
    expect(countOf(await turnsOf(kit, 40), 'ann')).toBe(40)
    expect(countOf(await turnsOf(kit, 40), 'bob')).toBeGreaterThanOrEqual(20)
  })

  test('leases that enqueues give move no turn of others', async () => {
    await kit.add(...wide('bob', 20), ...wide('ann', 20))
    for (let n = 0; n < 10; n++)
      await kit.enqueue(newTask(100 + n, { principal: 'ann', origin: `https://e${n}.test` }), {
        owner: 'x',
        leaseMs: LEASE_MS,
      })
    expect(countOf(await turnsOf(kit, 10), 'bob')).toBe(5)
  })
}
