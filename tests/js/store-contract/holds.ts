import { beforeEach, expect } from 'vitest'
import { claimOf, kitFor, newTask, type Open, ORIGIN, retryIn, SUCCEEDED, TERMS, testWhere } from './kit.ts'

const HOUR_MS = 3_600_000
const MOST_MS = 2_000
const LIMITED = { ...TERMS, maxLaneHoldMs: MOST_MS }

export function holdRules(open: Open): void {
  const kit = kitFor(open)
  const { add, claim, clock, lease, pass, settle, store, turn } = kit
  const test = testWhere(() => store.configure)
  beforeEach(() => store.configure?.(LIMITED))
  let n = 100
  /** The task of a call whose own attempt was told to wait. */
  const told = (forMs: number) => kit.enqueue(newTask(++n, { dueInMs: HOUR_MS, holdLaneForMs: forMs }))
  const heldForMs = async () => (await turn()).lanes.find(({ lane }) => lane === ORIGIN)?.heldForMs

  test('L1 a hold is limited to what it was configured to, an enqueue as well as a settlement', async () => {
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
    pass(MOST_MS)
    await settle(await lease({}), retryIn(HOUR_MS, { serverMs: HOUR_MS }), { holdLaneForMs: HOUR_MS })
    expect(await heldForMs()).toBe(MOST_MS)
    await add({})
    expect(await claim()).toEqual([])
    pass(MOST_MS)
    expect(await claim()).toHaveLength(1)
  })

  test('L1 renewed again and again a hold ends when its limit from its beginning says', async () => {
    await add({})
    for (let ms = 0; ms < MOST_MS; ms += 400) {
      await told(HOUR_MS)
      const { claimed, nextInMs } = await turn({ claim: claimOf() })
      expect({ claimed, nextInMs }).toEqual({ claimed: [], nextInMs: MOST_MS - ms })
      pass(400)
    }
    await told(HOUR_MS)
    expect(await claim()).toHaveLength(1)
  })

  test('a shorter wait may be followed by a longer one, up to the limit', async () => {
    await told(500)
    expect(await heldForMs()).toBe(500)
    pass(499)
    await told(1_000)
    expect(await heldForMs()).toBe(1_000)
    pass(999)
    await told(1_000)
    expect(await heldForMs()).toBe(502)
  })

  test('L1 after a hold none begins for a second, so that those who waited have their turn', async () => {
    await add({})
    await told(HOUR_MS)
    for (let ms = 0; ms < 1_000; ms += 333) {
      pass(ms === 0 ? MOST_MS : 333)
      await told(HOUR_MS)
      expect(await heldForMs(), `${ms} ms after it`).toBe(0)
    }
    pass(1)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
    expect(await claim()).toEqual([])
  })

  test('a lane that was served since its hold may be held again at once', async () => {
    await add({})
    await told(HOUR_MS)
    pass(MOST_MS)
    await settle(await lease(), SUCCEEDED)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
  })

  test('a lane whose last task is gone is not held anew any sooner', async () => {
    await told(HOUR_MS)
    pass(MOST_MS)
    await store.purgeAll()
    await turn()
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(0)
    await store.purgeAll()
    pass(1_000)
    await turn()
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
  })

  test('no limit worth a millisecond: nothing is held', async () => {
    store.configure?.({ ...TERMS, maxLaneHoldMs: 0 })
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(0)
    store.configure?.(LIMITED)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
  })

  test('L1 the limit of a hold goes along with a clock that is set back', async () => {
    await told(500)
    pass(400)
    expect(await heldForMs()).toBe(100)
    clock.step(-HOUR_MS)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(1_600)
    pass(1_600)
    expect(await heldForMs()).toBe(0)
    clock.step(-HOUR_MS)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(0)
    pass(1_000)
    await told(HOUR_MS)
    expect(await heldForMs()).toBe(MOST_MS)
  })
}
