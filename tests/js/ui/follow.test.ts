// How often a source is looked at: while it is in view, while it is not, and while it fails.
import { expect, test } from 'vitest'
import { fakeClock } from '../../../js/testing.ts'
import { Follow } from '../../../js/ui/inspector/follow.ts'
import { InspectorError } from '../../../js/ui/inspector/source.ts'

function setup() {
  const clock = fakeClock()
  const begun = clock.now()
  const looks: number[] = []
  const state = { error: undefined as Error | undefined, isHidden: false, gate: undefined as Promise<void> | undefined }
  const follow = new Follow({
    clock,
    isHidden: () => state.isHidden,
    changed: () => {},
    async look() {
      looks.push(clock.now() - begun)
      await state.gate
      if (state.error) throw state.error
    },
  })
  return { clock, follow, looks, state, since: () => looks.splice(0) }
}

test('once a second in view, every ten seconds out of it, and not at all once it is stopped', async () => {
  const { clock, follow, state, since } = setup()
  follow.start()
  await clock.advance(3_000)
  expect(since()).toEqual([0, 1_000, 2_000, 3_000])
  state.isHidden = true
  await clock.advance(21_000)
  expect(since()).toEqual([4_000, 14_000, 24_000])
  follow.stop()
  await clock.advance(60_000)
  expect(since()).toEqual([])
  expect(clock.timers).toBe(0)
})

test('soon after a change, and once for many', async () => {
  const { clock, follow, since } = setup()
  follow.start()
  await clock.advance(100)
  for (let i = 0; i < 5; i++) follow.soon()
  await clock.advance(200)
  expect(since()).toEqual([0, 250])
})

test('a source that fails is asked after 1, 2, 4, … 30 s; it says since when, and what', async () => {
  const { clock, follow, state, since } = setup()
  const begun = clock.now()
  state.error = new Error('down')
  follow.start()
  await clock.advance(100_000)
  expect(since()).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000])
  expect(follow.failure).toMatchObject({ message: 'down', sinceAt: begun, tryAt: begun + 121_000 })
  follow.soon()
  await clock.advance(1_000)
  expect(since()).toEqual([])
  state.error = undefined
  await follow.look()
  expect(follow.failure).toBeUndefined()
})

test('no sooner than the source asked', async () => {
  const { clock, follow, state, since } = setup()
  state.error = new InspectorError('too many', { retryAfterMs: 7_000 })
  follow.start()
  await clock.advance(13_000)
  expect(since()).toEqual([0, 7_000])
})

test('one that wants a token is not asked again by itself', async () => {
  const { clock, follow, state, since } = setup()
  state.error = new InspectorError('no token', { needsToken: true })
  follow.start()
  await clock.advance(600_000)
  expect(since()).toEqual([0])
  state.error = undefined
  await follow.look()
  await clock.advance(1_000)
  expect(since()).toEqual([600_000, 601_000])
})

test('a look that is asked for while one is under way follows it: it sees what came after', async () => {
  const { clock, follow, state, looks } = setup()
  let open = (): void => {}
  state.gate = new Promise((resolve) => {
    open = resolve
  })
  follow.start()
  const both = Promise.all([follow.look(), follow.look()])
  await clock.advance(5_000)
  expect(looks).toEqual([0])
  open()
  await both
  expect(looks).toEqual([0, 5_000])
})
