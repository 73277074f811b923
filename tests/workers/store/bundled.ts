import { bundleForWorker } from '../../bundle.ts'

/** Of random commands beside the reference; in Node it is 200. Each run empties the object's storage. */
const RUNS = 50

/** The Worker that runs the tests of this folder. */
export function storeWorker(): Promise<string> {
  return bundleForWorker('workers/store/worker.ts', {
    define: { 'globalThis.process': JSON.stringify({ env: { REDRIVE_RUNS: String(RUNS) } }) },
    instead: { vitest: 'browser/contract/vitest.ts' },
  })
}
