/** The contract suite in a page, on the page's own IndexedDB: each store that a test opens has a database of its own. */
import { indexedDbStore } from '../../../js/stores/indexeddb.ts'
import { storeContract } from '../../js/store-contract.ts'
import { mutants } from '../../js/store-mutants.ts'
import { connectionRules } from './connection.ts'
import { rowRules } from './rows.ts'
import { describe, names, run } from './vitest.ts'

export interface InPage {
  readonly names: () => readonly string[]
  readonly run: (name: string) => Promise<string | null>
}
declare global {
  var contract: InPage
}

let opened = 0
storeContract('indexeddb', (terms) => indexedDbStore({ name: `contract-${++opened}`, ...terms }))

describe('connection', connectionRules)
describe('rows', rowRules)

const { TrimsInSilence: broken } = mutants
if (broken) storeContract('broken', broken)

globalThis.contract = { names, run }
