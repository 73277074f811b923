/** Tabs that come, die and come back, and what the others know of them. */
import { describe, expect, vi } from 'vitest'
import { Presence } from '../../../js/stores/indexeddb/presence.ts'
import { testIn } from '../test-in.ts'
import { FakeBrowser, idle } from './fake-locks.ts'
import { open, setup, withoutTimers } from './tabs.ts'

const test = testIn(setup)

withoutTimers()

describe('homes', () => {
  test('are live from when they are held until they are let go, for all tabs, by name', async ({ browser, a, b }) => {
    expect(await a.presence.holdHome('two')).toBe(true)
    expect(await b.presence.holdHome('one')).toBe(true)
    expect(browser.names('held').sort()).toEqual(['redrive/default/one', 'redrive/default/two'])
    expect(await a.presence.liveHomes()).toEqual(['one', 'two'])
    b.presence.dropHome('one')
    await idle()
    expect(await a.presence.liveHomes()).toEqual(['two'])
    expect(await b.presence.liveHomes()).toEqual(['two'])
  })

  test('held many times are one lock, and let go once', async ({ browser, a }) => {
    expect(await Promise.all([a.presence.holdHome('one'), a.presence.holdHome('one')])).toEqual([true, true])
    expect(await a.presence.holdHome('one')).toBe(true)
    expect(browser.names('queued')).toEqual([])
    a.presence.dropHome('one')
    await idle()
    expect(browser.names('held')).toEqual([])
    a.presence.dropHome('never held')
    expect(await a.presence.holdHome('one')).toBe(true)
  })

  test('that are let go before they are held never are', async ({ browser, a }) => {
    const held = a.presence.holdHome('one')
    a.presence.dropHome('one')
    expect(await held).toBe(false)
    await idle()
    expect(browser.names('held')).toEqual([])
    expect(a.presence.isAvailable).toBe(true)
  })

  test('of another store are none, whatever the names', async () => {
    const browser = new FakeBrowser()
    const stores = ['a', 'a/b', 'a b', 'a?hidden', 'a%2Fb'].map((name) => open(browser, name))
    for (const { presence } of stores) expect(await presence.holdHome('x')).toBe(true)
    for (const { presence } of stores) expect(await presence.liveHomes()).toEqual(['x'])
  })

  test.each([
    ['a', 'b', 'a b', null],
    ['a', 'b', 'a%20b', null],
    ['a?hidden', null, 'a', null],
  ] as const)('nor is the pump of store %s for %s that of store %s for %s', async (one, hers, other, his) => {
    const browser = new FakeBrowser()
    const [a, b] = [open(browser, one), open(browser, other)]
    const granted = vi.fn()
    b.presence.leader?.want(his, granted)
    await idle()
    b.tab.show('hidden')
    await idle()
    a.presence.leader?.want(hers, granted)
    await idle()
    expect(granted).toHaveBeenCalledTimes(2)
    expect(browser.names('queued')).toEqual([])
  })

  test('L3 their end is heard once by whoever has looked, however it comes', async ({ browser, a, b, c }) => {
    await b.presence.holdHome('b')
    await c.presence.holdHome('c')
    for (let looks = 0; looks < 3; looks++) await a.presence.liveHomes()
    await b.presence.liveHomes()
    await idle()
    expect(browser.names('queued')).toEqual(['redrive/default/b*', 'redrive/default/c*', 'redrive/default/c*'])
    c.tab.die()
    await idle()
    expect([a.hint.mock.calls, b.hint.mock.calls]).toEqual([[['due']], [['due']]])
    b.presence.dropHome('b')
    await idle()
    expect(a.hint).toHaveBeenCalledTimes(2)
    expect(b.hint).toHaveBeenCalledTimes(1) // its own
    expect(await a.presence.liveHomes()).toEqual([])
    expect([browser.names('held'), browser.names('queued')]).toEqual([[], []])
  })

  test('that are only watched, by however many, are not live', async ({ a, b, c }) => {
    await c.presence.holdHome('c')
    await Promise.all([a.presence.liveHomes(), b.presence.liveHomes()])
    a.tab.isFrozen = true // it is granted its watch, and cannot let go of it
    c.tab.die()
    await idle()
    expect(await b.presence.liveHomes()).toEqual([])
    expect(b.hint).toHaveBeenCalledTimes(1)
  })
})

describe('rest', () => {
  test('lets go of everything at once, and nothing under way takes up again', async ({ browser, a, b }) => {
    await b.presence.holdHome('b')
    await b.presence.guard('b')
    await a.presence.holdHome('a')
    await a.presence.guard('a')
    a.presence.leader?.want(null, () => {})
    await a.presence.liveHomes()
    a.presence.watchGuards(['b', 'gone'], 7)
    await idle()
    await a.presence.orphanedLeases(async () => 1)
    await b.presence.guard('gone')
    const underWay = [a.presence.liveHomes(), a.presence.guard('other'), a.presence.watchGuards(['gone'], 7)]
    a.presence.suspend()
    expect(browser.names('queued')).toEqual([])
    await Promise.all(underWay)
    await idle()
    expect(browser.names('held').sort()).toEqual(['redrive/default/b', 'redrive/default/b!', 'redrive/default/gone!'])
    expect(browser.names('queued')).toEqual([])
    expect(a.presence.isGuarding('a')).toBe(false)
    b.tab.die()
    await idle()
    expect(a.hint).toHaveBeenCalledTimes(1) // 'gone', before the rest
  })

  test('each call after it takes up what it is about', async ({ browser, a, b }) => {
    await b.presence.guard('b')
    await a.presence.holdHome('a')
    await a.presence.guard('a')
    a.presence.watchGuards(['b'], 7)
    a.presence.suspend()
    a.presence.watchGuards(['b'], 7)
    expect(browser.names('queued')).toContain('redrive/default/b!*')
    expect(await a.presence.guard('a')).toBe(true)
    expect(a.presence.isGuarding('a')).toBe(true)
    await idle()
    // and what ends late of what was before does not undo it
    a.presence.watchGuards(['b'], 7)
    expect(await a.presence.guard('a')).toBe(true)
    expect([browser.names('held'), browser.names('queued')]).toEqual([
      ['redrive/default/b!', 'redrive/default/a!'],
      ['redrive/default/b!*'],
    ])
    expect(await b.presence.liveHomes()).toEqual([])
    expect(await a.presence.holdHome('a')).toBe(true)
    expect(await b.presence.liveHomes()).toEqual(['a'])
    const granted = vi.fn()
    a.presence.leader?.want(null, granted)
    await idle()
    expect(granted).toHaveBeenCalledTimes(1)
  })
})

describe('S18 where locks cannot be had', () => {
  async function expectNothing(presence: Presence): Promise<void> {
    expect(await presence.holdHome('a')).toBe(false)
    expect(await presence.guard('a')).toBe(false)
    expect(presence.isGuarding('a')).toBe(false)
    expect(await presence.liveHomes()).toEqual([])
    presence.watchGuards(['b'], 7)
    await idle()
    expect(await presence.orphanedLeases(() => Promise.reject(new TypeError('nobody has ended')))).toBeUndefined()
    presence.suspend()
  }

  test.each([undefined, {}])('for there are none: nothing is held and nobody is dead', async (navigator) => {
    vi.stubGlobal('navigator', navigator)
    const presence = new Presence('default', () => {})
    expect(presence.isAvailable).toBe(false)
    expect(presence.leader).toBeUndefined()
    await expectNothing(presence)
  })

  test('for the browser refuses them: the same, and it is remembered', async ({ a }) => {
    expect(a.presence.isAvailable).toBe(true)
    a.tab.refusal = new DOMException('not in this frame', 'SecurityError')
    await expectNothing(a.presence)
    expect(a.presence.isAvailable).toBe(false)
    const granted = vi.fn()
    a.presence.leader?.want(null, granted)
    await idle()
    expect(granted).toHaveBeenCalled()
    expect(a.hint).not.toHaveBeenCalled()
  })

  test('for a moment, as while a page is thrown away: they are asked for again', async ({ a }) => {
    a.tab.refusal = new DOMException('not fully active', 'InvalidStateError')
    expect(await a.presence.guard('a')).toBe(false)
    expect(a.presence.isAvailable).toBe(true)
    a.tab.refusal = undefined
    expect(await a.presence.guard('a')).toBe(true)
  })

  test('for request() throws', async ({ a }) => {
    a.tab.request = () => {
      throw new TypeError('not a function')
    }
    expect(await a.presence.guard('a')).toBe(false)
    expect(a.presence.isAvailable).toBe(false)
  })

  test('for nobody answers: it is waited for a second, once', async ({ a }) => {
    a.tab.isMute = true
    const granted = vi.fn()
    a.presence.leader?.want(null, granted)
    const answers = Promise.all([a.presence.guard('a'), a.presence.holdHome('a'), a.presence.liveHomes()])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await answers).toEqual([false, false, []])
    expect(granted).toHaveBeenCalledTimes(1)
    expect(await a.presence.guard('a')).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('for the one before has not let go yet: it is held as soon as it can be', async ({ a, b }) => {
    await b.presence.guard('a')
    const given = a.presence.guard('a')
    a.presence.unguard('a')
    expect(await given).toBe(false)
    expect(a.presence.isAvailable).toBe(true)
    const guarded = a.presence.guard('a')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await guarded).toBe(false)
    b.presence.suspend()
    await idle()
    expect(a.presence.isGuarding('a')).toBe(true)
    expect(await a.presence.guard('a')).toBe(true)
  })

  test('who was last known to be there counts as live while nobody can say', async ({ a, b }) => {
    await a.presence.holdHome('a')
    await b.presence.holdHome('b')
    await a.presence.liveHomes()
    a.tab.query = () => Promise.reject(new DOMException('gone', 'InvalidStateError'))
    expect(await a.presence.liveHomes()).toEqual(['a', 'b'])
    a.presence.watchGuards(['c'], 7)
    await idle()
    const highestToken = vi.fn(async () => 7)
    expect(await a.presence.orphanedLeases(highestToken)).toBeUndefined()
    Reflect.deleteProperty(a.tab, 'query')
    expect(await a.presence.orphanedLeases(highestToken)).toEqual({ owners: ['c'], upTo: 7 })
  })
})

test("Node's own locks will do", async () => {
  const hint = vi.fn()
  const here = new Presence('node', () => {})
  const there = new Presence('node', hint)
  expect(await here.holdHome('here')).toBe(true)
  expect(await here.guard('here')).toBe(true)
  expect(await there.liveHomes()).toEqual(['here'])
  there.watchGuards(['here'], 7)
  here.suspend()
  while (hint.mock.calls.length < 2) await idle()
  expect(await there.orphanedLeases(async () => 3)).toEqual({ owners: ['here'], upTo: 3 })
  there.suspend()
})
