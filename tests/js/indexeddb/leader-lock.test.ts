/** Tabs that share one pump, and who has it when some of them are hidden. */
import { describe, expect, test, vi } from 'vitest'
import { LeaderLock } from '../../../js/stores/indexeddb/leader-lock.ts'
import { FakeBrowser, type FakeTab, idle } from './fake-locks.ts'
import { withoutTimers } from './tabs.ts'

withoutTimers()

interface Tab {
  readonly tab: FakeTab
  readonly pump: LeaderLock
  readonly granted: ReturnType<typeof vi.fn<() => void>>
  /** Has it by the lock manager's reckoning. */
  readonly has: () => boolean
}

function setup(count = 3) {
  const browser = new FakeBrowser()
  const tabs = Array.from({ length: count }, (): Tab => {
    const tab = browser.tab()
    const has = () => browser.held.some((held) => held.tab === tab && held.name === 'p')
    return { tab, has, pump: new LeaderLock(tab, 'p', tab as unknown as Document), granted: vi.fn<() => void>() }
  })
  const [a, b, c] = tabs as [Tab, Tab, Tab]
  return { browser, tabs, a, b, c }
}

/** Each wants it, in their order. */
async function want(tabs: readonly Tab[]): Promise<void> {
  for (const { pump, granted } of tabs) {
    pump.want(null, granted)
    await idle()
  }
}

/** Of locks, but for the marks of those who wait and are looked at. */
const names = (browser: FakeBrowser, of: 'held' | 'queued') =>
  browser.names(of).filter((name) => !name.includes('?visible'))

const whoHas = (tabs: readonly Tab[]): number[] => tabs.flatMap(({ has }, i) => (has() ? [i] : []))

test('one has it; when it lets go or dies the next has it at once', async () => {
  const { tabs } = setup()
  await want(tabs)
  expect(tabs.map(({ granted }) => granted.mock.calls.length)).toEqual([1, 0, 0])
  tabs[0]?.pump.resign()
  await idle()
  expect(tabs.map(({ granted }) => granted.mock.calls.length)).toEqual([1, 1, 0])
  tabs[1]?.tab.die()
  await idle()
  expect(tabs.map(({ granted }) => granted.mock.calls.length)).toEqual([1, 1, 1])
})

test('wanting it again changes nothing, nor does letting go of what one has not', async () => {
  const { browser, a, b } = setup(2)
  b.pump.resign()
  await want([a, a, b, b])
  expect(a.granted).toHaveBeenCalledTimes(1)
  expect(names(browser, 'queued')).toEqual(['p'])
  b.pump.resign()
  a.pump.resign()
  await idle()
  expect([names(browser, 'held'), names(browser, 'queued')]).toEqual([[], []])
  expect(b.granted).not.toHaveBeenCalled()
  await want([b])
  b.pump.resign()
  await want([b])
  expect(b.granted).toHaveBeenCalledTimes(2)
})

test('each principal has a pump of its own, and who wants another lets go of the first', async () => {
  const { browser, a, b } = setup(2)
  a.pump.want('alice', a.granted)
  b.pump.want('bob', b.granted)
  await idle()
  expect(names(browser, 'held').sort()).toEqual(['p alice', 'p bob'])
  const later = vi.fn()
  a.pump.want('bob', later)
  await idle()
  expect([names(browser, 'held'), names(browser, 'queued')]).toEqual([['p bob'], ['p bob']])
  b.pump.want(null, b.granted)
  await idle()
  expect(names(browser, 'held').sort()).toEqual(['p', 'p bob'])
  expect([a, b].map(({ granted }) => granted.mock.calls.length)).toEqual([1, 2])
  expect(later).toHaveBeenCalledTimes(1)
})

test('each principal has a mark of its own for tabs that are hidden, let go with the pump', async () => {
  const { browser, a, b, c } = setup()
  a.pump.want('alice', a.granted)
  b.pump.want('bob', b.granted)
  await idle()
  for (const { tab } of [a, b]) tab.show('hidden')
  await idle()
  expect(names(browser, 'held').sort()).toEqual(['p alice', 'p bob', 'p?hidden alice', 'p?hidden bob'])
  c.pump.want('bob', c.granted)
  await idle()
  expect(c.granted).toHaveBeenCalledTimes(1)
  expect(names(browser, 'held').sort()).toEqual(['p alice', 'p bob', 'p?hidden alice'])
  a.pump.want('carol', a.granted)
  await idle()
  expect(names(browser, 'held').sort()).toEqual(['p bob', 'p carol', 'p?hidden carol'])
})

test('it gives way each time that it is hidden anew', async () => {
  const { tabs, a, b } = setup(2)
  await want(tabs)
  for (let times = 1; times <= 3; times++) {
    a.tab.show('hidden')
    await idle()
    expect(whoHas(tabs)).toEqual([1])
    a.tab.show('visible')
    b.pump.resign()
    await want([b])
    expect(whoHas(tabs)).toEqual([0])
  }
})

test('one that is hidden for a moment only keeps it', async () => {
  const { browser, tabs, a, b } = setup(2)
  await want(tabs)
  const query = a.tab.query.bind(a.tab)
  a.tab.query = async () => {
    const answer = await query()
    a.tab.show('visible')
    return answer
  }
  a.tab.show('hidden')
  a.tab.show('hidden')
  await idle()
  expect(whoHas(tabs)).toEqual([0])
  expect(b.granted).not.toHaveBeenCalled()
  expect([names(browser, 'held'), names(browser, 'queued')]).toEqual([['p'], ['p']])
})

test('one that is hidden and alone keeps it, and nobody is told anything', async () => {
  const { browser, tabs, a } = setup(1)
  await want(tabs)
  a.tab.show('hidden')
  await idle()
  expect(whoHas(tabs)).toEqual([0])
  expect(names(browser, 'held')).toEqual(['p', 'p?hidden'])
  const { queries } = a.tab
  a.tab.show('visible')
  await idle()
  expect(a.granted).toHaveBeenCalledTimes(1)
  expect(names(browser, 'held')).toEqual(['p'])
  expect(a.tab.queries).toBe(queries) // there is nothing to look for
  a.tab.show('hidden')
  await idle()
  expect(names(browser, 'held')).toEqual(['p', 'p?hidden'])
})

test.each([false, true])('who is visible takes it from one that is hidden; frozen: %s', async (isFrozen) => {
  const { browser, tabs, a, b, c } = setup()
  await want([a])
  a.tab.show('hidden')
  await idle()
  a.tab.isFrozen = isFrozen
  await want([b])
  expect(whoHas(tabs)).toEqual([1])
  expect(b.granted).toHaveBeenCalledTimes(1)
  // and nobody takes it from the one that is visible
  await want([c])
  expect(whoHas(tabs)).toEqual([1])
  a.tab.thaw()
  await idle()
  expect(names(browser, 'held')).toEqual(['p'])
  expect(names(browser, 'queued')).toEqual(['p', 'p'])
  b.pump.resign()
  c.pump.resign()
  await idle()
  expect(whoHas(tabs)).toEqual([0])
  expect(names(browser, 'held').sort()).toEqual(['p', 'p?hidden'])
})

test('who does not want it any more takes nothing, nor who has it by then', async () => {
  const { browser, tabs, a, b, c } = setup()
  await want([a])
  a.tab.show('hidden')
  await idle()
  b.pump.want(null, b.granted)
  b.pump.resign()
  await idle()
  expect(names(browser, 'held')).toEqual(['p', 'p?hidden'])
  const query = c.tab.query.bind(c.tab)
  c.tab.query = async () => {
    const answer = await query()
    a.pump.resign()
    await idle()
    return answer
  }
  await want([c])
  await idle()
  expect(whoHas(tabs)).toEqual([2])
  expect(c.granted).toHaveBeenCalledTimes(1)
})

test('who waits hidden takes it when it is looked at, and not before', async () => {
  const { browser, tabs, a, b } = setup(2)
  await want([a])
  a.tab.show('hidden')
  b.tab.show('hidden')
  await idle()
  await want([b])
  expect(whoHas(tabs)).toEqual([0])
  b.tab.show('hidden')
  await idle()
  expect(names(browser, 'queued')).toEqual(['p']) // it has nothing to give
  b.tab.show('visible')
  await idle()
  expect(whoHas(tabs)).toEqual([1])
})

test('it finds its way past hidden tabs to the one that is looked at', async () => {
  const { tabs } = setup(4)
  await want(tabs)
  for (const i of [1, 2]) tabs[i]?.tab.show('hidden')
  tabs[0]?.tab.show('hidden')
  await idle()
  expect(whoHas(tabs)).toEqual([3])
})

test('L3 one that has given way before, and is still hidden, gives way again to one that is looked at', async () => {
  const { tabs, a, b } = setup()
  await want(tabs.slice(0, 2))
  a.tab.show('hidden')
  await idle()
  expect(whoHas(tabs)).toEqual([1])
  await want(tabs.slice(2))
  b.tab.die()
  await idle()
  expect(whoHas(tabs)).toEqual([2])
})

test('who waits leaves no mark behind', async () => {
  const { browser, tabs, a, b, c } = setup()
  await want(tabs)
  b.tab.show('hidden')
  c.pump.resign()
  await idle()
  expect([browser.names('held'), browser.names('queued')]).toEqual([['p'], ['p']])
  b.tab.show('visible')
  a.pump.resign()
  await idle()
  expect([browser.names('held'), browser.names('queued')]).toEqual([['p'], []])
})

test('where all are hidden it comes to rest', async () => {
  const { browser, tabs } = setup(4)
  await want(tabs)
  for (const { tab } of tabs) tab.show('hidden')
  await idle()
  expect(whoHas(tabs).length).toBe(1)
  const holder = whoHas(tabs)
  const grants = tabs.map(({ granted }) => granted.mock.calls.length)
  await idle()
  expect(whoHas(tabs)).toEqual(holder)
  expect(tabs.map(({ granted }) => granted.mock.calls.length)).toEqual(grants)
  expect(names(browser, 'held').sort()).toEqual(['p', 'p?hidden'])
})

test('who has let go listens to its page no more', async () => {
  const { browser, tabs, a } = setup(1)
  await want(tabs)
  const stopped = vi.spyOn(a.tab, 'removeEventListener')
  a.pump.resign()
  await idle()
  expect(stopped).toHaveBeenCalled()
  a.tab.show('hidden')
  a.tab.show('visible')
  await idle()
  expect([names(browser, 'held'), names(browser, 'queued'), a.tab.queries]).toEqual([[], [], 1])
})

describe('S18 where locks cannot be had everybody pumps', () => {
  const refusal = () => Promise.reject(new DOMException('not in this frame', 'SecurityError'))

  test.each(['request', 'query'] as const)('for %s() is refused', async (method) => {
    const { tabs } = setup(2)
    for (const { tab } of tabs) tab[method] = refusal
    await want(tabs)
    for (const { granted } of tabs) expect(granted).toHaveBeenCalled()
  })
})
