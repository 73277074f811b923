/** The views that the engine computes, loaded when the first of them is opened: the crowd, the frontier, the outage. */

import type { RetryPolicy } from 'redrive/core'
import { policyFields, resolvePolicy } from 'redrive/internal'
import { openLabEngine } from '../engine/lab-engine.ts'
import type { LabEngine } from '../engine/model.ts'
import { RedriveDots } from '../plot/dots.ts'
import { crowdView } from './crowd-view.ts'
import { frontierView } from './frontier-view.ts'
import { otherCalls, outageView } from './outage-view.ts'
import type { Sight } from './sight.ts'
import type { LabState } from './state.ts'

/** Retries of a crowd that are looked at, as in the article's chart. */
const CROWD_RETRIES = 10
/** More dots than these are a raster. */
const DOTS_MOST = 20_000
/** Crowds that each row of the frontier is the mean of. */
const CROWDS = 20
/** A raster before there is an element to measure. */
const FIRST_RASTER = { width: 1_200, height: 520 }

export interface ComputeCall {
  readonly root: ShadowRoot
  readonly signal: AbortSignal
  readonly onProgress: (share: number, partial?: Sight) => void
  /** The picture has another size than it was computed for. */
  readonly resized: () => void
}

export class Computed {
  readonly #engine: LabEngine = openLabEngine()

  async sightOf(state: LabState, { root, signal, onProgress, resized }: ComputeCall): Promise<Sight> {
    const { view, policy, jobs, seed } = state
    const fields = fieldsOf(policy)
    if (view === 'frontier') {
      const answer = await this.#engine.frontier(
        { fields, crowds: CROWDS, seed },
        { signal, onProgress: (share) => onProgress(share) },
      )
      return frontierView(answer, policy.policyId ?? 'own', root.querySelector('#view')?.clientWidth ?? 0)
    }
    if (view === 'crowd') {
      const dots = root.querySelector('redrive-dots')
      const raster = dots instanceof RedriveDots ? dots.raster : FIRST_RASTER
      const request = { fields, jobs, retries: CROWD_RETRIES, seed, ...raster, dotsMax: DOTS_MOST }
      const answer = await this.#engine.crowd(request, { signal, onProgress: (share) => onProgress(share) })
      return crowdView(answer, jobs, raster, resized)
    }
    const { capacity, ...rest } = state.outage
    const request = { ...rest, fields, seed, capacityPerSecond: capacity }
    const answer = await this.#engine.outage(request, {
      signal,
      onProgress: (share, partial) => onProgress(share / 2, partial && outageView(partial, state.outage)),
    })
    onProgress(0.5, outageView(answer, state.outage))
    // the engine runs one outage at a time
    const other = await this.#engine.outage(
      { ...request, calls: otherCalls(rest.calls) },
      { signal, onProgress: (share) => onProgress(0.5 + share / 2) },
    )
    return outageView(answer, state.outage, other)
  }

  close(): void {
    this.#engine.close()
  }
}

const fieldsOf = (policy: Partial<RetryPolicy>): Float64Array => policyFields(resolvePolicy(policy))
