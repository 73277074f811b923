/** The state that the parts of the inspector draw, and what they may ask for: each of them is given it. */

import type { Acts } from './acts.ts'
import type { EventLog } from './event-log.ts'
import type { Failure } from './follow.ts'
import type { History } from './history.ts'
import type { InspectorAct, InspectorOverview, InspectorSource, InspectorTask, InspectorTaskView } from './source.ts'
import type { ListFilter } from './task-list.ts'

export type Tab = 'overview' | 'tasks' | 'events'

/** The task that is looked at. */
export interface Opened {
  readonly taskId: string
  /** Absent: it is asked for. */
  readonly view?: InspectorTaskView
  /** There is none of that id any more; `view` is what was there. */
  readonly isGone?: true
}

export type Asking =
  | { readonly type: 'redriveAll'; readonly count: number }
  | { readonly type: 'purgeAll'; readonly count: number }
  | { readonly type: 'purge'; readonly taskId: string }

interface ListState extends ListFilter {
  /** Those that fit, as far as they are loaded. */
  readonly shown: readonly InspectorTask[]
  readonly loaded: number
  readonly isWhole: boolean
  /** All that are left are being loaded. */
  readonly isLoadingAll: boolean
  readonly isFresh: boolean
  /** The row that the keyboard is at. */
  readonly active: number
  readonly from: number
  readonly to: number
}

export interface View {
  readonly source: InspectorSource
  readonly isReadonly: boolean
  readonly now: number
  readonly overview: InspectorOverview | undefined
  readonly failure: Failure | undefined
  readonly history: History
  readonly acts: Acts
  readonly events: EventLog
  readonly tab: Tab
  readonly list: ListState
  readonly opened: Opened | undefined
  readonly asking: Asking | undefined
  /** Pixels for a timeline. */
  readonly width: number
  show(tab: Tab): void
  /** Begins the list anew where what it is of has changed. */
  filter(change: Partial<ListFilter>): void
  open(taskId: string): void
  close(): void
  loadAll(): void
  ask(asking: Asking | undefined): void
  /** Does it; the outcome goes to `acts` under `key`. */
  act(
    key: string,
    act: InspectorAct | ((signal: AbortSignal, onProgress: (done: number, total: number) => void) => InspectorAct),
  ): void
  key(event: KeyboardEvent): void
  scrolled(event: Event): void
  authorize(token: string): void
  lookNow(): void
}
