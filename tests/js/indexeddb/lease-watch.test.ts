/** Whose leases are looked after, and when others may take them. */
import { describe, expect, vi } from 'vitest'
import { testIn } from '../test-in.ts'
import { idle } from './fake-locks.ts'
import { setup, type Tab, withoutTimers } from './tabs.ts'

const test = testIn(setup)

withoutTimers()

/** Watches guards, of tokens up to `token`, until that is under way. */
async function watches({ presence }: Tab, token = 7, owner = 'b') {
  presence.watchGuards([owner], token)
  await idle()
}

describe('guards', () => {
  test('are held from when guard() says so until unguard()', async ({ browser, a }) => {
    expect(a.presence.isGuarding('a')).toBe(false)
    const guarded = a.presence.guard('a')
    expect(a.presence.isGuarding('a')).toBe(false)
    expect(await guarded).toBe(true)
    expect(a.presence.isGuarding('a')).toBe(true)
    expect(browser.names('held')).toEqual(['redrive/default/a!'])
    expect(await a.presence.liveHomes()).toEqual([])
    a.presence.unguard('a')
    expect(a.presence.isGuarding('a')).toBe(false)
    await idle()
    expect(browser.names('held')).toEqual([])
  })

  test('nobody is asked anything while no end is heard', async ({ a, b }) => {
    await b.presence.guard('b')
    await watches(a)
    const highestToken = vi.fn(async () => 7)
    expect(await a.presence.orphanedLeases(highestToken)).toBeUndefined()
    expect(highestToken).not.toHaveBeenCalled()
    expect(a.tab.queries).toBe(0)
  })

  test.each(['dies', 'unguards', 'rests'] as const)(
    'S3 leases of an owner that %s are orphans up to the last token',
    async (how) => {
      const { a, b } = setup()
      await b.presence.guard('b')
      await a.presence.guard('a')
      a.presence.watchGuards(['a', 'b'], 7)
      await idle()
      if (how === 'dies') b.tab.die()
      else if (how === 'unguards') b.presence.unguard('b')
      else b.presence.suspend()
      await idle()
      expect(a.hint.mock.calls).toEqual([['due']])
      expect(await a.presence.orphanedLeases(async () => 7)).toEqual({ owners: ['b'], upTo: 7 })
      expect(await a.presence.orphanedLeases(async () => 8)).toBeUndefined()
    },
  )

  test('an end that was there before anybody watched is heard at once', async ({ a }) => {
    for (let turns = 0; turns < 3; turns++) await watches(a, 7, 'long gone')
    expect(a.hint).toHaveBeenCalledTimes(1)
    expect(await a.presence.orphanedLeases(async () => 7)).toEqual({ owners: ['long gone'], upTo: 7 })
  })

  test('S3 an owner that is back before the question has no orphans, and is watched anew', async ({ a, b }) => {
    await b.presence.guard('b')
    await watches(a)
    b.presence.suspend()
    await idle()
    const highestToken = async () => {
      await b.presence.guard('b')
      return 7
    }
    expect(await a.presence.orphanedLeases(highestToken)).toBeUndefined()
    await watches(a)
    expect(a.hint).toHaveBeenCalledTimes(1)
    b.tab.die()
    await idle()
    expect(a.hint).toHaveBeenCalledTimes(2)
    expect(await a.presence.orphanedLeases(async () => 9)).toEqual({ owners: ['b'], upTo: 9 })
  })

  test('S3 the last token is read before it is asked who is gone', async ({ a }) => {
    await watches(a)
    const queries: number[] = []
    await a.presence.orphanedLeases(async () => queries.push(a.tab.queries))
    expect(queries).toEqual([0])
    expect(a.tab.queries).toBe(1)
  })

  test('of a gone owner something that cannot be taken back is not heard of again and again', async ({ a, b }) => {
    await watches(a)
    await a.presence.orphanedLeases(async () => 7)
    for (let turns = 0; turns < 5; turns++) await watches(a)
    expect(a.hint).toHaveBeenCalledTimes(1)
    // until it is back, and has been given another
    await b.presence.guard('b')
    await watches(a, 8)
    expect(a.hint).toHaveBeenCalledTimes(1)
    b.tab.die()
    await idle()
    expect(a.hint).toHaveBeenCalledTimes(2)
  })

  test('L3 an owner that was given a lease after the last token was read, and died before it was asked for, is heard of again', async ({
    a,
    b,
  }) => {
    await watches(a)
    const highestToken = async () => {
      await b.presence.guard('b')
      // and here it claims
      b.tab.die()
      return 7
    }
    expect(await a.presence.orphanedLeases(highestToken)).toEqual({ owners: ['b'], upTo: 7 })
    await watches(a, 8)
    expect(a.hint).toHaveBeenCalledTimes(2)
    expect(await a.presence.orphanedLeases(async () => 8)).toEqual({ owners: ['b'], upTo: 8 })
  })

  test('an owner of which nothing was left is watched like any other when there is something again', async ({ a }) => {
    await watches(a)
    await a.presence.orphanedLeases(async () => 7)
    a.presence.watchGuards([], 7)
    await watches(a)
    expect(await a.presence.orphanedLeases(async () => 9)).toEqual({ owners: ['b'], upTo: 9 })
  })

  test('an end is not forgotten where the store cannot be read', async ({ a }) => {
    await watches(a)
    await expect(a.presence.orphanedLeases(() => Promise.reject(new TypeError('no store')))).rejects.toThrow('no store')
    expect(await a.presence.orphanedLeases(async () => 7)).toEqual({ owners: ['b'], upTo: 7 })
  })
})
