/** The store of pages on the IndexedDB of each engine of this size. WebKit's: tests/webkit/. */
import { contractIn } from './contract/suite.ts'
import { engines } from './engines.ts'

contractIn(engines)
