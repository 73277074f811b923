/** The store of pages on WebKit's IndexedDB. */
import { contractIn } from '../browser/contract/suite.ts'
import { launchWebKit } from './webdriver.ts'

contractIn([['WebKit', launchWebKit]])
