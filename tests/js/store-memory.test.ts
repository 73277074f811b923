import { expect, test } from 'vitest'
import { memoryStore } from '../../js/stores/memory.ts'
import { storeContract } from './store-contract.ts'

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
