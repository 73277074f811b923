// The parts of the inspector that only compute: search, the rows in view, the last minutes, what changed between two looks, the log.
import { describe, expect, test } from 'vitest'
import { harmless } from '../../../js/display/harmless.ts'
import { changeOf, changesOf } from '../../../js/ui/inspector/changes.ts'
import { EventLog } from '../../../js/ui/inspector/event-log.ts'
import { History } from '../../../js/ui/inspector/history.ts'
import { scrolledTo, windowOf } from '../../../js/ui/inspector/list-window.ts'
import { idIn, matcher } from '../../../js/ui/inspector/search.ts'
import type { InspectorOrigin, InspectorOverview } from '../../../js/ui/inspector/source.ts'
import { idOf, taskOf } from './inspector-setup.ts'

describe('search', () => {
  const task = taskOf(7, { principal: 'Ada', tags: ['invoice=2041'], targetUrl: 'https://api.test/Orders?x=1' })

  test.each([
    ['orders', true],
    ['ADA', true],
    ['order-7', true],
    ['ada 2041', true],
    ['ada 2042', false],
    [idOf(7), true],
    [' ', true],
  ])('%o fits: %o', (text, fits) => {
    expect((matcher({ text, method: '' }) ?? (() => true))(task)).toBe(fits)
  })

  test('by method alone, and with words', () => {
    expect(matcher({ text: '', method: 'GET' })?.(task)).toBe(false)
    expect(matcher({ text: 'ada', method: 'POST' })?.(task)).toBe(true)
  })

  test('nothing to search for is no search', () => {
    expect(matcher({ text: '  ', method: '' })).toBeUndefined()
  })

  test('an id is known as one', () => {
    expect(idIn(`  ${idOf(7).toUpperCase()} `)).toBe(idOf(7))
    expect(idIn('order-7')).toBeUndefined()
  })
})

describe('the rows in view', () => {
  test.each([
    [0, 100_000, 0, 18],
    [30_000, 100_000, 992, 1_018],
    [2_999_700, 100_000, 99_982, 100_000],
    [30_000, 5, 5, 5],
    [0, 0, 0, 0],
  ])('at %i of %i rows are %i to %i', (scrollTop, count, from, to) => {
    expect(windowOf(scrollTop, 300, 30, count)).toEqual({ from, to })
  })

  test('a row is scrolled to from above and below, and not where it is in view', () => {
    expect(scrolledTo(10, 600, 300, 30)).toBe(300)
    expect(scrolledTo(40, 600, 300, 30)).toBe(930)
    expect(scrolledTo(25, 600, 300, 30)).toBe(600)
  })
})

describe('the last five minutes', () => {
  const look = (succeeded: number, waiting = 0) => ({ succeeded, failed: succeeded * 2, waiting })

  test('nothing is said of throughput before ten seconds were seen', () => {
    const seen = new History()
    seen.look(0, look(100))
    seen.look(9_999, look(105))
    expect(seen.perMinute(9_999)).toBeUndefined()
    expect(seen.perMinute(10_000)).toBe(30)
  })

  test('a steady rate is that rate', () => {
    const seen = new History()
    for (let now = 0; now <= 300_000; now += 1_000) seen.look(now, look(now / 500, 3))
    expect(seen.perMinute(300_000)).toBeCloseTo(120, -1)
    expect(seen.slots).toHaveLength(30)
    for (const slot of seen.slots.slice(0, -1)) expect(slot).toEqual({ succeeded: 20, failed: 40, waiting: 3 })
  })

  test('a count that fell, as when old tasks are deleted, counts for nothing', () => {
    const seen = new History()
    seen.look(0, look(1_000))
    seen.look(5_000, look(200))
    seen.look(10_000, look(210))
    expect(seen.slots.map(({ succeeded }) => succeeded)).toEqual([0, 10])
  })

  test('a long pause between two looks fills no more than there is room for, and what waited before it stays', () => {
    const seen = new History()
    seen.look(0, look(0, 5))
    seen.look(86_400_000, look(7, 1))
    expect(seen.slots).toHaveLength(30)
    expect(seen.slots.at(0)).toEqual({ succeeded: 0, failed: 0, waiting: 5 })
    expect(seen.slots.at(-1)).toEqual({ succeeded: 7, failed: 14, waiting: 1 })
  })

  test('of a part of the time the most that waited is kept, and a count that is not known is none', () => {
    const seen = new History()
    for (const [now, waiting] of [
      [0, 1],
      [3_000, 9],
      [6_000, 0],
    ] as const)
      seen.look(now, { waiting })
    expect(seen.slots).toEqual([{ succeeded: 0, failed: 0, waiting: 9 }])
    expect(seen.perMinute(20_000)).toBeUndefined()
  })
})

describe('what changed between two looks', () => {
  const origin: InspectorOrigin = {
    origin: 'https://api.test',
    pending: 1,
    inFlight: 0,
    circuit: 'CLOSED',
    heldUntilAt: null,
    retryBudget: null,
  }
  const overview = (more: Partial<InspectorOverview>): InspectorOverview => ({
    depth: 1,
    inFlight: 0,
    deadLetters: 0,
    capacity: 100,
    counts: {},
    origins: [origin],
    ...more,
  })

  test.each([
    ['nothing', {}, {}, []],
    ['successes', { succeeded: 3 }, { succeeded: 5 }, ['succeeded 2 tasks']],
    ['dead letters', {}, { deadLetters: 1 }, ['exhausted 1 new dead letter']],
    ['fewer of them', { deadLetters: 4 }, {}, ['dead letters 4 fewer: redriven, deleted, or past their retention']],
    ['a pause', {}, { paused: true }, ['paused everything']],
    [
      'a circuit',
      {},
      { origins: [{ ...origin, circuit: 'OPEN' as const }] },
      ['circuit https://api.test: closed to open'],
    ],
    ['a hold', {}, { origins: [{ ...origin, heldUntilAt: 9 }] }, ['held https://api.test asked for a wait']],
    [
      'a hold that goes on',
      { origins: [{ ...origin, heldUntilAt: 9 }] },
      { origins: [{ ...origin, heldUntilAt: 12 }] },
      [],
    ],
    ['a pause of an origin', {}, { origins: [{ ...origin, paused: true }] }, ['paused https://api.test']],
  ])('%s', (_, before, after, said) => {
    expect(changesOf(overview(before), overview(after), 5).map(({ kind, text }) => `${kind} ${text}`)).toEqual(said)
  })

  test('a task', () => {
    expect(changeOf(undefined, taskOf(1), 5)).toMatchObject({ kind: 'new', taskId: idOf(1) })
    const ended = taskOf(1, { status: 'EXHAUSTED', reason: 'max_attempts' })
    expect(changeOf(taskOf(1), ended, 5)).toMatchObject({
      kind: 'exhausted',
      tone: 'bad',
      text: 'POST https://api.test/orders/1: max_attempts',
    })
  })
})

describe('the log', () => {
  const event = (n: number) => ({ at: n, kind: 'retry', text: `${n}` })

  test('keeps the last 200, the latest first', () => {
    const log = new EventLog()
    for (let n = 0; n < 250; n++) log.add(event(n))
    expect(log.shown.map(({ at }) => at)).toEqual(Array.from({ length: 200 }, (_, n) => 249 - n))
  })

  test('held still it shows what it had, and counts what it misses', () => {
    const log = new EventLog()
    log.add(event(1))
    log.toggle()
    log.add(event(2))
    expect([log.isPaused, log.missed, log.shown.length]).toEqual([true, 1, 1])
    log.toggle()
    expect([log.isPaused, log.missed, log.shown.length]).toEqual([false, 0, 2])
  })
})

test('control characters and those of writing direction are shown by their number', () => {
  expect(harmless('a\u202eb\n\u2066c\u0000')).toBe('a\\u202eb\\u000a\\u2066c\\u0000')
})
