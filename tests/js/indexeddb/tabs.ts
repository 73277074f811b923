/** Tabs of one browser, each with its presence in a store. */
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { Presence } from '../../../js/stores/indexeddb/presence.ts'
import { FakeBrowser, type FakeTab } from './fake-locks.ts'

/** Nothing in the tests of a file that calls this may be waited for in vain. */
export function withoutTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
}

export interface Tab {
  readonly tab: FakeTab
  readonly presence: Presence
  readonly hint: ReturnType<typeof vi.fn<(kind: 'due' | 'principal') => void>>
}

export function open(browser: FakeBrowser, store = 'default'): Tab {
  const tab = browser.tab()
  const hint = vi.fn<(kind: 'due' | 'principal') => void>()
  return { tab, hint, presence: new Presence(store, hint, tab, tab as unknown as Document) }
}

export function setup(): { browser: FakeBrowser; a: Tab; b: Tab; c: Tab } {
  const browser = new FakeBrowser()
  return { browser, a: open(browser), b: open(browser), c: open(browser) }
}
