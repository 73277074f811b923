import { expect, test } from 'vitest'
import { MUTANTS, sourcesOf } from './mutants.ts'

test.each(MUTANTS)('the mutant %s changes sources as they are today', (name) => {
  expect(sourcesOf(name).length).toBeGreaterThan(0)
})
