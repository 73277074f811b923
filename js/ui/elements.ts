/** The elements as a page sees them: properties and events, without the library that they are made with, whose types a page need not have. */

import type { RetryQueue } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import type { InspectorSource } from './inspector/source.ts'

/** A view of the lab. */
export type CurveView = 'curve' | 'crowd' | 'frontier' | 'outage'

/**
 * `<redrive-curve>`: shows what a retry policy does. It needs nothing but its tag. Fires `change`, with the policy in `detail`, whenever the reader
 * has made another one. A page whose fragment was made by its "Copy link" opens with the same view.
 */
export interface RedriveCurveElement extends HTMLElement {
  /** The policy that is looked at. One that the core refuses is shown as refused, with the reason. @default presets.interactive */
  policy: Partial<RetryPolicy>
  /** A second policy, laid over the first one's curve. null: none. @default null */
  versus: Partial<RetryPolicy> | null
  /** The view that is open; any other word changes nothing. Also an attribute. @default 'curve' */
  view: CurveView
  /** Whether the address of the page follows what is shown, so that a reload and a bookmark keep it. Also an attribute. @default false */
  linked: boolean
}

/**
 * `<redrive-inspector>`: shows what a live queue or a retry service is doing, and why each task is where it is. Of `source`, `queue` and `src` the first that
 * is given counts.
 */
export interface RedriveInspectorElement extends HTMLElement {
  /** The queue to look at. */
  queue: RetryQueue | undefined
  /** Anything else that satisfies `InspectorSource`. */
  source: InspectorSource | undefined
  /** The address of a retry service; '' or '/': the page's own origin. Also an attribute. */
  src: string | null | undefined
  /** The token for that service. Kept in memory alone: there is no attribute for it. Another `src` forgets it, so set `src` first. */
  token: string | undefined
  /** Whether there is no action, only what is shown. Also an attribute. @default false */
  readonly: boolean | undefined
}
