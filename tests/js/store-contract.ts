// The tests that every store passes unchanged: each rule of js/api/store.ts as a sentence, then random commands
// side by side with the reference.
import { describe } from 'vitest'
import { claimRules } from './store-contract/claim.ts'
import { controlRules } from './store-contract/control.ts'
import { enqueueRules } from './store-contract/enqueue.ts'
import { historyRules } from './store-contract/history.ts'
import { holdRules } from './store-contract/holds.ts'
import type { Open } from './store-contract/kit.ts'
import { modelRules } from './store-contract/model.ts'
import { readRules } from './store-contract/read.ts'
import { settleRules } from './store-contract/settle.ts'
import { tabRules } from './store-contract/tabs.ts'
import { timeRules } from './store-contract/time.ts'

/** `runs`: of random commands, where REDRIVE_RUNS does not say. */
export function storeContract(name: string, open: Open, runs?: number): void {
  describe(`${name}: enqueue`, () => enqueueRules(open))
  describe(`${name}: leases and settlements`, () => settleRules(open))
  describe(`${name}: holds`, () => holdRules(open))
  describe(`${name}: claims`, () => claimRules(open))
  describe(`${name}: orders`, () => controlRules(open))
  describe(`${name}: time`, () => timeRules(open))
  describe(`${name}: tabs`, () => tabRules(open))
  describe(`${name}: reads`, () => readRules(open))
  describe(`${name}: history`, () => historyRules(open))
  describe(`${name}: beside the reference`, () => modelRules(open, runs))
}
