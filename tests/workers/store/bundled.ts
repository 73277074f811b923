import { bundleForWorker } from '../../bundle.ts'
import { bySize, SIZE } from '../../size.ts'

/** Of random commands beside the reference. Each empties the object's storage. */
const RUNS = bySize(64, 64, 200)

/** The Worker that runs the tests of this folder. */
export function storeWorker(): Promise<string> {
  return bundleForWorker('workers/store/worker.ts', {
    define: {
      'globalThis.process': JSON.stringify({ env: { REDRIVE_RUNS: String(RUNS), REDRIVE_SIZE: SIZE } }),
      'process.env': JSON.stringify({ REDRIVE_SIZE: SIZE }),
    },
    instead: { vitest: 'browser/contract/vitest.ts' },
  })
}
