import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { sharedStoreContract } from './store-contract.ts'

sharedStoreContract('sqlite', () => freshPath(QUICK_FOLDER), openStore)
