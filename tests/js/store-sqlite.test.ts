import { freshPath, openStore } from './sqlite/setup.ts'
import { storeContract } from './store-contract.ts'

storeContract('sqlite', (terms) => openStore(freshPath(), terms))
