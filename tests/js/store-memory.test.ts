import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from '../../js/stores/memory.ts'
import { likeTheReference } from './store-contract/model.ts'
import { storeContract } from './store-contract.ts'
import { mutants } from './store-mutants.ts'
import { mutantsForEveryone } from './store-mutants-everyone.ts'

storeContract('memory', memoryStore, undefined, {
  everyone: (terms) => memoryStore({ ...terms, everyone: true }),
  pair: (terms) => {
    const store = memoryStore(terms)
    return [store, store]
  },
  pairOfAll: (terms) => {
    const store = memoryStore({ ...terms, everyone: true })
    return [store, store]
  },
})

test.for(Object.entries(mutants))('the contract tells %s from a store', async ([, open]) => {
  // one seed: whether a check can fail is no matter of luck
  const { failed } = await fc.check(likeTheReference(open), { seed: 1, numRuns: 1_000, endOnFailure: true })
  expect(failed).toBe(true)
})

test.for(Object.entries(mutantsForEveryone))('the contract tells %s from a store for everyone', async ([, open]) => {
  const { failed } = await fc.check(likeTheReference(open, true), { seed: 1, numRuns: 1_000, endOnFailure: true })
  expect(failed).toBe(true)
})

test.for([
  [{ capacity: 0 }, RangeError, 'memoryStore.capacity: expected a whole number from 1 to 1000000, got 0'],
  [{ capacityBytes: -1 }, RangeError, 'memoryStore.capacityBytes: expected'],
  [{ retention: { terminalMs: '1' } }, TypeError, 'memoryStore.retention.terminalMs: expected'],
  [{ clock: { now: Date.now } }, TypeError, 'memoryStore.clock.monotonic: expected a function'],
  [{ everyone: false }, RangeError, 'memoryStore.everyone: expected true, got false'],
  [{ path: 'x' }, TypeError, 'memoryStore.path: no such option'],
] as const)('%o is refused when the store is made', ([options, kind, message]) => {
  expect(() => memoryStore(options as object)).toThrow(kind)
  expect(() => memoryStore(options as object)).toThrow(message)
})

test('nothing of it outlives the process, and every producer can be heard', () => {
  expect(memoryStore()).toMatchObject({ durability: 'memory', idleCheckMs: null })
})
