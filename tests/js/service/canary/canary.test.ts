/**
 * S12 over the whole service: a secret in each field that takes text, different ones each time, and a search for them in all that the service writes,
 * says and sends. Each pair of a field and a place is a test.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FIELDS } from './fields.ts'
import { SINKS } from './sinks.ts'
import { World } from './world.ts'

const _ENOUGH = 200
/** A run on a machine with much other work. */
const TIMEOUT_MS = 240_000

let world: World
/** By sink and field: the forms in which its secrets were found. */
const found = new Map<string, string[]>()
let _codes: readonly (number | null)[] = []

beforeAll(async () => {
  world = await World.start()
  for (const { name, put } of FIELDS) await put?.(world, (shape) => world.canaries.make(name, shape))
  world.snapshot()
  await world.settled()
  await world.look()
  await world.lookByCommands()
  _codes = await world.end()
  for (const sink of SINKS) {
    for (const hit of world.canaries.foundIn(world.written.in(sink))) {
      const [, field = '', form = ''] = /^\d+\. (.+) \((\w+\) as .+)$/.exec(hit) ?? []
      const key = `${sink} ${field}`
      found.set(key, [...(found.get(key) ?? []), form])
    }
  }
}, TIMEOUT_MS)

afterAll(() => world?.end())

describe.each(FIELDS)('S12 $name', ({ name, kept = [] }) => {
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
