/** Service workers of WebKit: redrive opens in them, and nobody wakes them. */
import { withoutSync } from '../browser/without-sync.ts'
import { launchWebKit } from './webdriver.ts'

withoutSync('WebKit, a worker of one script', launchWebKit, 'worker=sync-worker.classic.js&type=classic')
withoutSync('WebKit, a worker of modules', launchWebKit, 'worker=sync-worker.js&type=module')
