import fc from 'fast-check'
import { expect, test } from 'vitest'
import { likeTheReference } from './store-contract/model.ts'
import { mutants, mutantsForEveryone } from './store-mutants.ts'

test.for([
  ...Object.entries(mutants).map(([name, open]) => ({ name, open, everyone: false })),
  ...Object.entries(mutantsForEveryone).map(([name, open]) => ({ name, open, everyone: true })),
])('random commands tell $name from a store (for everyone: $everyone)', async ({ open, everyone }) => {
  // one seed: whether a check can fail is no matter of luck
  const { failed } = await fc.check(likeTheReference(open, everyone), { seed: 1, numRuns: 1_000, endOnFailure: true })
  expect(failed).toBe(true)
})
