/** Firefox. WebKit: tests/webkit/. */
import { firefox } from './engines.ts'
import { withoutSync } from './without-sync.ts'

// a worker of one script runs in every version, a module in later ones
withoutSync('Firefox, a worker of one script', firefox, 'worker=sync-worker.classic.js&type=classic')
withoutSync('Firefox, a worker of modules', firefox, 'worker=sync-worker.js&type=module')
