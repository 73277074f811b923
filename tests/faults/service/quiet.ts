/** After the blows: time for all that is left, tasks and the ends that are to be told of them. */

import { drain, type Say } from '../runner.ts'
import type { Clients } from './clients.ts'
import { untoldEnds, wantedEnds } from './ends.ts'
import { readCounts, readRows, readStory } from './evidence.ts'
import { type Quiet, redrivesIn } from './facts.ts'
import type { Fleet } from './fleet.ts'
import type { Intent } from './intents.ts'
import type { Operator } from './operator.ts'
import type { Receiver } from './receiver.ts'

/** Nothing has changed for so long: it will not. */
const STALLED_MS = 60_000
/** No process has told an end for so long, several looks of each, while nothing else was left: none will. */
const UNTOLD_MS = 20_000

export interface QuietField {
  readonly fleet: Fleet
  readonly clients: Clients
  readonly operator: Operator
  readonly receiver: Receiver
  readonly intents: readonly Intent[]
  readonly say: Say
}

export interface LeftAlone {
  readonly drained: boolean
  /** The longest that nothing moved for. */
  readonly stoodStillMs: number
  /** All that was to be told was. */
  readonly isTold: boolean
  readonly quiet: Quiet
}

/** Time, and no more blows. Ends are told by tasks of their own, which come after them: nothing is left to do once those that are to be told have been. */
export async function leftAlone(field: QuietField): Promise<LeftAlone> {
  const { fleet, clients, receiver, say } = field
  let [last, movedAt, stoodStillMs] = ['', Date.now(), 0]
  let quiet: Quiet = { at: Date.now(), rows: [] }
  let untold = 0
  const look = async () => {
    // one that starts, or goes on, has not yet answered
    const counts = await readCounts(fleet).catch(() => undefined)
    const { pending = 1, inFlight = 0, succeeded = 0, exhausted = 0, cancelled = 0 } = counts ?? {}
    const state = [clients.calls.length, receiver.visits.length, pending, inFlight, succeeded, exhausted, cancelled]
    stoodStillMs = Math.max(stoodStillMs, Date.now() - movedAt)
    if (state.join() !== last) movedAt = Date.now()
    last = state.join()
    const isIdle = clients.isDone && pending + inFlight === 0
    if (isIdle) quiet = { at: Date.now(), rows: await readRows(fleet) }
    untold = isIdle ? await untoldOf(field, quiet) : 0
    return {
      isDone: isIdle && (untold === 0 || Date.now() > movedAt + UNTOLD_MS),
      state,
      words: `left alone: ${succeeded} succeeded, ${exhausted} given up, ${pending + inFlight} to go, ${untold} ends to be told`,
    }
  }
  const drained = await drain(look, { stalledMs: STALLED_MS, say })
  return { drained, stoodStillMs, isTold: untold === 0, quiet }
}

/** A task that was put back has another end now, whatever was told of the one before. */
async function untoldOf({ fleet, operator, receiver, intents }: QuietField, { rows }: Quiet): Promise<number> {
  const wanted = wantedEnds(rows, intents)
  const redriven = wanted.filter(({ taskId }) => operator.redriven.has(taskId))
  const since = new Map<string, number>()
  for (const { taskId } of redriven) {
    since.set(taskId, redrivesIn(await readStory(fleet, taskId)).at(-1) ?? Number.NEGATIVE_INFINITY)
  }
  return untoldEnds(wanted, receiver.visits, (taskId) => since.get(taskId) ?? Number.NEGATIVE_INFINITY).length
}
