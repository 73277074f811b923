/**
 * S12 over the whole service: a secret in each field that takes text, different ones each time, and a search for them in all that the service writes,
 * says and sends. Each pair of a field and a place is a test.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldsOf, useSettings } from './fields.ts'
import { SINKS } from './sinks.ts'
import { type Kinds, World } from './world.ts'

const ENOUGH = 200
const LEAST_BYTES = 500
/** A run on a machine with much other work. */
const TIMEOUT_MS = 240_000

export function testEveryPair(kinds: Kinds): void {
  const fields = fieldsOf(kinds)
  let world: World
  /** By sink and field: the forms in which its secrets were found. */
  const found = new Map<string, string[]>()
  let codes: readonly (number | null)[] = []

  beforeAll(async () => {
    world = await World.start(kinds)
    await useSettings(world)
    for (const { name, put } of fields) await put?.(world, (shape) => world.canaries.make(name, shape))
    world.snapshot()
    await world.settled()
    await world.look()
    await world.lookByCommands()
    codes = await world.end()
    for (const sink of SINKS) {
      for (const hit of world.canaries.foundIn(world.written.in(sink))) {
        const [, field = '', form = ''] = /^\d+\. (.+) \((\w+\) as .+)$/.exec(hit) ?? []
        const key = `${sink} ${field}`
        found.set(key, [...(found.get(key) ?? []), form])
      }
    }
  }, TIMEOUT_MS)

  afterAll(() => world?.end())

  test('each field had secrets, and all together enough of them', () => {
    const { all } = world.canaries
    const known = new Set(all.map(({ slot }) => /^\d+\. (.+) \(\w+\)$/.exec(slot)?.[1]))
    expect(fields.filter(({ name }) => !known.has(name)).map(({ name }) => name)).toEqual([])
    expect(all.length).toBeGreaterThanOrEqual(ENOUGH)
    expect(codes).toEqual([0, 0])
  })

  test('every place was looked into, and says of attempts how they failed', () => {
    const sizes = SINKS.map((sink) => [sink, world.written.in(sink).length] as const)
    expect(sizes.filter(([, size]) => size < LEAST_BYTES)).toEqual([])
    const attempts = Buffer.from(world.written.in('attempts')).toString()
    for (const word of [
      '"responseStatus":400',
      '"responseStatus":503',
      'ECONNRESET',
      'does not match the HTTP/1.1 protocol',
    ])
      expect(attempts).toContain(word)
  })

  test('S12 credentials reach the origin that they are for, and no other', () => {
    const { canaries, servers } = world
    const { target, other, hooks } = servers.received
    const foundIn = (texts: readonly string[]) => canaries.foundIn(Buffer.from(texts.join('\n')))
    const arrived = foundIn(target)
    const missing = [...canaries.sent].filter(({ slot }) => !arrived.some((hit) => hit.startsWith(`${slot} as`)))
    expect(missing.map(({ slot }) => slot)).toEqual([])
    expect(
      foundIn([...other, ...hooks]).filter((hit) =>
        [...canaries.sent].some(({ slot }) => hit.startsWith(`${slot} as`)),
      ),
    ).toEqual([])
  })

  describe.each(fields)('S12 $name', ({ name, kept = [] }) => {
    const may = SINKS.filter((sink) => kept.includes(sink))
    const mayNot = SINKS.filter((sink) => !kept.includes(sink))

    test.each(mayNot)('is not in: %s', (sink) => {
      expect(found.get(`${sink} ${name}`) ?? []).toEqual([])
    })

    if (may.length > 0) {
      test.each(may)('is in, as documented: %s', (sink) => {
        expect(found.get(`${sink} ${name}`) ?? []).not.toEqual([])
      })
    }
  })
}
