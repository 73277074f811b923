/** The store of pages on the IndexedDB of Chromium and of Firefox. WebKit's: tests/webkit/. */
import { contractIn } from './contract/suite.ts'
import { chromium, firefox } from './engines.ts'

contractIn({ Chromium: chromium, Firefox: firefox })
