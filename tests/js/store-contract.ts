// The tests that every store passes unchanged: each rule of js/api/store.ts as a sentence, then random commands
// side by side with the reference.
import { describe } from 'vitest'
import { claimRules } from './store-contract/claim.ts'
import { controlRules } from './store-contract/control.ts'
import { dueRules } from './store-contract/due.ts'
import { enqueueRules } from './store-contract/enqueue.ts'
import { everyoneRules } from './store-contract/everyone.ts'
import { historyRules } from './store-contract/history.ts'
import { holdRules } from './store-contract/holds.ts'
import type { Open } from './store-contract/kit.ts'
import { limitRules, unlimitedRules } from './store-contract/limits.ts'
import { lineRules } from './store-contract/lines.ts'
import { listRules } from './store-contract/listing.ts'
import { modelRules } from './store-contract/model.ts'
import { pauseRules } from './store-contract/pauses.ts'
import { quotaRules, unlessForEveryone } from './store-contract/quotas.ts'
import { windowRules } from './store-contract/rate-windows.ts'
import { rateRules } from './store-contract/rates.ts'
import { readRules } from './store-contract/read.ts'
import { type Pair, registryRules } from './store-contract/registry.ts'
import { retentionRules } from './store-contract/retention.ts'
import { senderDataRules } from './store-contract/sender-data.ts'
import { settleRules } from './store-contract/settle.ts'
import { tabRules } from './store-contract/tabs.ts'
import { timeRules } from './store-contract/time.ts'
import { turnRules } from './store-contract/turns.ts'
import { unreportedRules } from './store-contract/unreported.ts'

export interface Also {
  /** Opens an empty store for everyone. Absent: there is none of this kind. */
  readonly everyone?: Open
  /** Opens two handles of one empty store, each as another process would have it. Absent: only one may be open. */
  readonly pair?: Pair
  /** Two handles of one that is for everyone. */
  readonly pairOfAll?: Pair
  /** Two handles: the first is not for everyone, the second is. */
  readonly either?: Pair
}

/** `runs`: of random commands, where REDRIVE_RUNS does not say. */
export function storeContract(
  name: string,
  open: Open,
  runs?: number,
  { everyone, pair, pairOfAll, either }: Also = {},
): void {
  describe(`${name}: enqueue`, () => enqueueRules(open))
  describe(`${name}: leases and settlements`, () => settleRules(open))
  describe(`${name}: holds`, () => holdRules(open))
  describe(`${name}: claims`, () => claimRules(open))
  describe(`${name}: orders`, () => controlRules(open))
  describe(`${name}: time`, () => timeRules(open))
  describe(`${name}: retention`, () => retentionRules(open))
  describe(`${name}: tabs`, () => tabRules(open))
  describe(`${name}: reads`, () => readRules(open))
  describe(`${name}: history`, () => historyRules(open))
  describe(`${name}: due`, () => dueRules(open))
  describe(`${name}: facts of the sender`, () => senderDataRules(open))
  describe(`${name}: lists`, () => listRules(open))
  describe(`${name}: quotas`, () => unlessForEveryone(open))
  describe(`${name}: limits`, () => unlimitedRules(open))
  describe(`${name}: registry`, () => registryRules(open, pair))
  describe(`${name}: pauses`, () => pauseRules(open, everyone, pair))
  describe(`${name}: beside the reference`, () => modelRules(open, runs))
  if (either) describe(`${name}: lines`, () => lineRules(either))
  if (!everyone) return
  describe(`${name} for everyone`, () => everyoneRules(everyone))
  describe(`${name} for everyone: ends to be told`, () => unreportedRules(everyone))
  describe(`${name} for everyone: retention`, () => retentionRules(everyone))
  describe(`${name} for everyone: quotas`, () => quotaRules(everyone, pairOfAll))
  describe(`${name} for everyone: limits`, () => limitRules(everyone, pairOfAll))
  describe(`${name} for everyone: rates`, () => rateRules(everyone, pairOfAll))
  describe(`${name} for everyone: turns`, () => turnRules(everyone))
  describe(`${name} for everyone: windows`, () => windowRules(everyone, pairOfAll))
  describe(`${name} for everyone: beside the reference`, () => modelRules(everyone, runs, true))
}

type Terms = Parameters<Open>[0] & { readonly everyone?: true }

/** The same of stores that more than one handle may open: `placeOf` names an empty place for one. */
export function sharedStoreContract<P>(
  name: string,
  placeOf: () => P,
  openIn: (place: P, terms: Terms) => ReturnType<Open>,
  runs?: number,
): void {
  const pairOf =
    (one: { everyone?: true }, two: { everyone?: true }): Pair =>
    async (terms) => {
      const place = placeOf()
      return [await openIn(place, { ...terms, ...one }), await openIn(place, { ...terms, ...two })]
    }
  const all = { everyone: true } as const
  storeContract(name, (terms) => openIn(placeOf(), terms), runs, {
    everyone: (terms) => openIn(placeOf(), { ...terms, ...all }),
    pair: pairOf({}, {}),
    pairOfAll: pairOf(all, all),
    either: pairOf({}, all),
  })
}
