// The same where there are no Web Locks, as in pages without TLS.
import 'fake-indexeddb/auto'
import { expect, test, vi } from 'vitest'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { storeContract } from './store-contract.ts'

vi.stubGlobal('navigator', {})
let opened = 0

storeContract('indexeddb without locks', (terms) => indexedDbStore({ ...terms, name: `lockless-${++opened}` }))

test('every runner claims, and homes have to be held anew', () => {
  const store = indexedDbStore({ name: 'lockless' })
  expect(store.leader).toBeUndefined()
  expect(store.homes?.areHeard).toBe(false)
})
