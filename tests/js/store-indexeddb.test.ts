import 'fake-indexeddb/auto'
import { indexedDbStore } from '../../js/stores/indexeddb.ts'
import { storeContract } from './store-contract.ts'

let opened = 0

storeContract('indexeddb', (terms) => indexedDbStore({ ...terms, name: `contract-${++opened}` }))
