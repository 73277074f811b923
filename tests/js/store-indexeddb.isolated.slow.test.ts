// In quick the contract runs on IndexedDB in a real browser alone.
import 'fake-indexeddb/auto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { freshName } from './indexeddb/setup.ts'
import { storeContract } from './store-contract.ts'

storeContract('indexeddb', (terms) => indexedDbStore({ ...terms, name: freshName() }))

describe('without Web Locks, as in pages without TLS', () => {
  beforeAll(() => {
    vi.stubGlobal('navigator', {})
  })
  afterAll(() => {
    vi.unstubAllGlobals()
  })

  storeContract('indexeddb without locks', (terms) => indexedDbStore({ ...terms, name: freshName() }))

  test('every runner claims, and homes have to be held anew', () => {
    const store = indexedDbStore({ name: freshName() })
    expect(store.leader).toBeUndefined()
    expect(store.homes?.areHeard).toBe(false)
  })
})
