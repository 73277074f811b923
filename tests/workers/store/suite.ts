/** The tests by name, on whatever storage the object that runs them has. */
import { test } from 'vitest'
import { durableObjectStore } from '../../../js/stores/durable-object.ts'
import { names, run } from '../../browser/contract/vitest.ts'
import { storeContract } from '../../js/store-contract.ts'
import { mutants } from '../../js/store-mutants.ts'
import { rules } from './rules.ts'
import type { TestStorage } from './worker.ts'

export { names }

let current: TestStorage | undefined

function storage(): TestStorage {
  if (!current) throw new Error('no object runs this test')
  return current
}

storeContract('durable object', async (terms) => {
  await storage().deleteAll()
  return durableObjectStore({ storage: storage(), ...terms })
})

for (const [name, rule] of Object.entries(rules)) test(name, () => rule(storage()))

const { TrimsInSilence: broken } = mutants
if (broken) storeContract('broken', broken)

/** One at a time: objects of one process share this module. */
export async function runIn(given: TestStorage, name: string): Promise<string | null> {
  current = given
  try {
    return await run(name)
  } finally {
    current = undefined
  }
}
