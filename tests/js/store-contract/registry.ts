import { expect, onTestFinished } from 'vitest'
import type { Registry, TaskStore } from '../../../js/api/store.ts'
import { fakeClock } from '../../../js/testing/clock.ts'
import { kitFor, type Open, partOf, testWhere } from './kit.ts'

/** Opens two handles on one empty store. */
export type Pair = (
  terms: Parameters<Open>[0],
) => Promise<readonly [TaskStore, TaskStore]> | readonly [TaskStore, TaskStore]

/** Two handles; closed when the test is over. */
export async function openPair(pair: Pair): Promise<readonly [TaskStore, TaskStore]> {
  const stores = await pair({ clock: fakeClock() })
  for (const store of stores) onTestFinished(() => store.close())
  return stores
}

const namesOf = async (registry: Registry, prefix: string) =>
  (await registry.read({ prefix })).entries?.map(({ name }) => name)

export function registryRules(open: Open, pair?: Pair): void {
  const { add, store } = kitFor(open)
  const registry = partOf(() => store.registry as Registry)
  const test = testWhere(() => store.registry)

  test('a registry in which nothing was ever written is empty, at version 0', async () => {
    expect(await registry.read({ prefix: '' })).toEqual({ version: 0, entries: [] })
  })

  test('entries are read by their beginning and by name, with values as they were written and the version of each', async () => {
    const value = { a: [1, null, { b: 'é' }], c: false }
    expect(await registry.write('policy/b', value)).toBe('written')
    await registry.write('policy/a', 'text')
    await registry.write('operation/1', 0)
    await registry.write('policy_c', [])
    value.c = true
    expect(await registry.read({ prefix: 'policy/' })).toEqual({
      version: 4,
      entries: [
        { name: 'policy/a', value: 'text', version: 2 },
        { name: 'policy/b', value: { a: [1, null, { b: 'é' }], c: false }, version: 1 },
      ],
    })
    expect(await namesOf(registry, '')).toEqual(['operation/1', 'policy/a', 'policy/b', 'policy_c'])
    expect(await namesOf(registry, 'policy/%')).toEqual([])
  })

  test('S1 what was written is there after a close, and after all tasks were purged', async () => {
    await add({})
    await registry.write('a', { n: 1 })
    await store.purgeAll()
    await store.close()
    expect(await registry.read({ prefix: '' })).toEqual({
      version: 1,
      entries: [{ name: 'a', value: { n: 1 }, version: 1 }],
    })
  })

  test('each change raises the version, a deletion too; the value that is there changes nothing', async () => {
    const version = async () => (await registry.read({ prefix: 'none' })).version
    await registry.write('a', { n: 1 })
    expect([await registry.write('a', { n: 1 }), await version()]).toEqual(['written', 1])
    expect([await registry.write('a', { n: 2 }), await version()]).toEqual(['written', 2])
    expect([await registry.write('a', null), await version()]).toEqual(['written', 3])
    expect([await registry.write('a', null), await version()]).toEqual(['written', 3])
    expect(await registry.read({ prefix: '' })).toEqual({ version: 3, entries: [] })
    await registry.write('a', { n: 2 })
    expect(await registry.read({ prefix: '' })).toMatchObject({ version: 4, entries: [{ version: 4 }] })
  })

  test('a read since the version that is still the last gives no entries', async () => {
    await registry.write('a', 1)
    await registry.write('b', 1)
    expect(await registry.read({ prefix: 'a', since: 2 })).toEqual({ version: 2, entries: undefined })
    expect((await registry.read({ prefix: 'a', since: 1 })).entries).toHaveLength(1)
    await registry.write('b', null)
    expect(await registry.read({ prefix: 'b', since: 2 })).toEqual({ version: 3, entries: [] })
    expect(await registry.read({ prefix: '', since: 3 })).toEqual({ version: 3, entries: undefined })
  })

  test('an entry is written only where it has the version that is expected; 0 is none', async () => {
    expect(await registry.write('a', 'x', 1)).toBe('changed')
    expect(await registry.write('a', 'first', 0)).toBe('written')
    expect(await registry.write('a', 'second', 0)).toBe('changed')
    await registry.write('b', 1)
    // the version of the map is another number
    expect(await registry.write('a', 'second', 2)).toBe('changed')
    expect(await registry.write('a', 'second', 1)).toBe('written')
    expect(await registry.write('a', null, 1)).toBe('changed')
    expect(await registry.write('a', null, 3)).toBe('written')
    expect(await registry.read({ prefix: '' })).toEqual({ version: 4, entries: [{ name: 'b', value: 1, version: 2 }] })
  })

  test.for([
    { name: '', value: 1 },
    { name: 'a\u0000', value: 1 },
    { name: 'a', value: undefined },
    { name: 'a', value: () => {} },
    { name: 'a', value: 1n },
    { name: 'a', value: 1, expected: -1 },
    { name: 'a', value: 1, expected: 0.5 },
  ])('%o is refused, and nothing is written', async ({ name, value, expected }) => {
    await expect(registry.write(name, value, expected)).rejects.toThrow(/registry\.write/)
    expect((await registry.read({ prefix: '' })).version).toBe(0)
  })

  test('of two handles that expect one version, one writes, and both see what it was', async () => {
    if (!pair) return
    const [one, two] = (await openPair(pair)).map(({ registry }) => registry)
    if (!one || !two) return
    const said = await Promise.all([one.write('a', 'one', 0), two.write('a', 'two', 0)])
    // over two sockets either may come first
    expect([...said].sort()).toEqual(['changed', 'written'])
    const { version, entries } = await two.read({ prefix: '' })
    expect(entries).toEqual([{ name: 'a', value: said[0] === 'written' ? 'one' : 'two', version: 1 }])
    expect((await one.read({ prefix: '', since: version })).entries).toBeUndefined()
    expect(await two.write('a', 'three', 1)).toBe('written')
    expect(await one.write('a', 'four', 1)).toBe('changed')
    expect((await one.read({ prefix: '', since: version })).entries).toMatchObject([{ value: 'three', version: 2 }])
  })
}
