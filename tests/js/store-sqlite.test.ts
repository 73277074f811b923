import { bySize } from '../size.ts'
import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { sharedStoreContract } from './store-contract.ts'

// a file for each of its cases: fewer of them in quick
sharedStoreContract('sqlite', () => freshPath(QUICK_FOLDER), openStore, bySize(16, 200))
