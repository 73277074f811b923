import { QUICK_FOLDER } from './sqlite/quick-folder.ts'
import { freshPath, openStore } from './sqlite/setup.ts'
import { storeContract } from './store-contract.ts'

storeContract('sqlite', (terms) => openStore(freshPath(QUICK_FOLDER), terms), undefined, {
  everyone: (terms) => openStore(freshPath(QUICK_FOLDER), { ...terms, everyone: true }),
  pair: (terms) => {
    const path = freshPath(QUICK_FOLDER)
    return [openStore(path, terms), openStore(path, terms)]
  },
  pairOfAll: (terms) => {
    const path = freshPath(QUICK_FOLDER)
    const handle = () => openStore(path, { ...terms, everyone: true })
    return [handle(), handle()]
  },
})
