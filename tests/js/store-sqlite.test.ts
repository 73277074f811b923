import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { storeContract } from './store-contract.ts'

storeContract('sqlite', (terms) => openStore(freshPath(QUICK_FOLDER), terms))
