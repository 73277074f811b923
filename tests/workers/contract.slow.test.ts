/** The contract that every store passes, unchanged, on the SQLite of a Durable Object in a real workerd. */
import { beforeAll, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { startObjects } from './harness/objects.ts'
import { storeWorker } from './store/bundled.ts'
import { rules } from './store/rules.ts'

const objects = duringTests(async () => startObjects(await storeWorker()))
let names: readonly string[] = []

beforeAll(async () => {
  names = await objects.names()
})

async function failures(start: string): Promise<readonly string[]> {
  const failed: string[] = []
  for (const name of names.filter((each) => each.startsWith(start))) {
    const failure = await objects.run(name)
    if (failure) failed.push(`${name}: ${failure}`)
  }
  return failed
}

test('every test of the contract passes', { timeout: 300_000 }, async () => {
  expect(names.filter((name) => name.startsWith('durable object: ')).length, 'tests of it').toBeGreaterThan(100)
  expect(await failures('durable object: ')).toEqual([])
})

test.each(Object.keys(rules))('%s', async (name) => {
  expect(await objects.run(name)).toBeNull()
})

test('a store that trims in silence does not pass, so a failure is seen here', async () => {
  const [said, ...others] = await failures('broken: time > S17 beyond')
  expect(said).toContain('expected undefined to deeply equal')
  expect(others).toEqual([])
})
