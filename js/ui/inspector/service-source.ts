/**
 * A retry service as an inspector sees it, over its REST API. It has no stream of events yet, so it is asked again and again; which of its
 * actions the token allows shows in what the service refuses.
 */

import type { AttemptLog, Decision } from 'redrive'
import { plural, systemClock, whenAborted } from 'redrive/internal'
import { type ServiceCall, ServiceError, type ServiceSourceOptions, serviceCaller } from './service-call.ts'
import type {
  InspectorAct,
  InspectorActType,
  InspectorOrigin,
  InspectorOverview,
  InspectorPage,
  InspectorSource,
  InspectorTask,
} from './source.ts'

type TaskOut = Omit<InspectorTask, 'principal' | 'tags' | 'meta'> & {
  readonly tenant: string | null
  readonly tags?: Readonly<Record<string, string>>
}
interface PauseOut {
  readonly pauseId: string
  readonly origin?: string
  readonly tenant?: string | null
}
interface StatsOut extends Pick<InspectorOverview, 'capacity'> {
  readonly counts: Readonly<Record<'pending' | 'inFlight' | 'exhausted', number>> &
    Readonly<Partial<Record<'succeeded' | 'cancelled', number>>>
  readonly lanes: readonly InspectorOrigin[]
  readonly moreLanes: boolean
}
interface OperationOut {
  readonly operationId: string
  readonly status: 'RUNNING' | 'STOPPING' | 'STOPPED' | 'DONE'
  readonly done: number
  readonly skipped: number
  readonly total: number
}

const WRITES: readonly InspectorActType[] = ['cancel', 'due', 'redrive']
const ADMIN: readonly InspectorActType[] = ['pause', 'resume', 'flush', 'redriveAll', 'purge', 'purgeAll']
const LOOK_MS = 500

/** Makes a source of a retry service; `<redrive-inspector src="…">` does so by itself. */
export function serviceSource(options: ServiceSourceOptions = {}): InspectorSource {
  const { base, call, setToken } = serviceCaller(options)
  /** Sentences by action. */
  const refused = new Map<InspectorActType, string>()
  let can = canOf(refused)
  /** A token lacks a scope, not an action: one refusal speaks for all actions of that scope. */
  const noteRefusal = (error: unknown, scope: readonly InspectorActType[]): void => {
    if (!(error instanceof ServiceError) || error.status !== 403) return
    for (const type of scope) refused.set(type, error.message)
    can = canOf(refused)
  }
  const pauses = (): Promise<readonly PauseOut[]> =>
    refused.has('pause')
      ? Promise.resolve([])
      : call<{ pauses: PauseOut[] }>('GET', '/pauses').then(
          (answer) => answer.pauses,
          (error) => {
            noteRefusal(error, ADMIN)
            if (refused.has('pause')) return []
            throw error
          },
        )
  return {
    name: base,
    order: 'falling',
    get can() {
      return can
    },
    async overview() {
      const [stats, paused] = await Promise.all([call<StatsOut>('GET', '/stats'), pauses()])
      return overviewOf(stats, paused)
    },
    async list({ status, origin, limit, cursor }): Promise<InspectorPage> {
      const given = Object.entries({ status, origin, limit: `${limit}`, cursor })
      const query = new URLSearchParams(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
      const page = await call<{ tasks: TaskOut[]; cursor?: string }>('GET', `/retry-tasks?${query}`)
      return { ...page, tasks: page.tasks.map(taskOf) }
    },
    async task(taskId) {
      const path = pathOf('retry-tasks', taskId)
      const read = Promise.all([
        call<TaskOut>('GET', path),
        call<{ attempts: AttemptLog[] }>('GET', `${path}/attempts`),
        call<{ decisions: Decision[] }>('GET', `${path}/explain`),
      ])
      const found = await read.catch((error: unknown) => {
        if (error instanceof ServiceError && error.status === 404) return undefined
        throw error
      })
      return found && { task: taskOf(found[0]), attempts: found[1].attempts, decisions: found[2].decisions }
    },
    async act(act) {
      try {
        return await carryOut(act, call, pauses)
      } catch (error) {
        noteRefusal(error, WRITES.includes(act.type) ? WRITES : ADMIN)
        throw error
      }
    },
    authorize(token) {
      setToken(token)
      refused.clear()
      can = canOf(refused)
    },
  }
}

const canOf = (refused: ReadonlyMap<InspectorActType, string>): InspectorSource['can'] =>
  Object.fromEntries([...WRITES, ...ADMIN].map((type) => [type, refused.get(type) ?? true]))

const pathOf = (what: string, id: string): string => `/${what}/${encodeURIComponent(id)}`

const taskOf = ({ tenant, tags, ...task }: TaskOut): InspectorTask => ({
  ...task,
  principal: tenant,
  ...(tags && { tags: Object.entries(tags).map(([name, value]) => `${name}=${value}`) }),
})

function overviewOf({ counts, capacity, lanes, moreLanes }: StatsOut, pauses: readonly PauseOut[]): InspectorOverview {
  const { pending, inFlight, exhausted, succeeded, cancelled } = counts
  const times = lanes.map(({ nextAttemptAt }) => nextAttemptAt ?? Number.POSITIVE_INFINITY)
  const next = Math.min(...times)
  return {
    depth: pending + inFlight,
    inFlight,
    deadLetters: exhausted,
    capacity,
    nextAttemptAt: Number.isFinite(next) ? next : null,
    ...(succeeded !== undefined && { succeeded, exhausted }),
    counts: {
      PENDING: pending,
      IN_FLIGHT: inFlight,
      EXHAUSTED: exhausted,
      ...(succeeded !== undefined && { SUCCEEDED: succeeded }),
      ...(cancelled !== undefined && { CANCELLED: cancelled }),
    },
    ...(pauses.some((each) => isOfAll(each, lanes)) && { paused: true }),
    origins: lanes,
    moreOrigins: moreLanes,
  }
}

/** A tenant's pause is one of everything to a token that sees no other tenant. */
const isOfAll = ({ origin, tenant }: PauseOut, lanes: StatsOut['lanes']): boolean =>
  origin === undefined && (tenant === undefined || lanes.every((lane) => lane.tenant === tenant))

async function carryOut(
  act: InspectorAct,
  call: ServiceCall,
  pauses: () => Promise<readonly PauseOut[]>,
): Promise<string> {
  switch (act.type) {
    case 'cancel': {
      const { outcome } = await call<{ outcome: string }>('DELETE', pathOf('retry-tasks', act.taskId))
      return outcome === 'cancelled' ? 'cancelled' : 'the attempt under way is aborted; if it succeeds, that counts'
    }
    case 'due':
      await call('POST', `${pathOf('retry-tasks', act.taskId)}/due`, {})
      return 'made due'
    case 'redrive':
      await call('POST', `${pathOf('dead-letters', act.taskId)}/redrive`, riskOf(act))
      return 'redriven'
    case 'purge':
      await call('DELETE', pathOf('dead-letters', act.taskId))
      return 'deleted'
    case 'flush':
      return `${plural((await call<{ due: number }>('POST', '/flush', {})).due, 'task')} made due`
    case 'pause':
      await call('POST', '/pauses', act.origin === undefined ? {} : { origin: act.origin })
      return 'paused'
    case 'resume':
      return resume(act.origin, call, await pauses())
    case 'redriveAll': {
      const { perSecond, signal, onProgress } = act
      const begun = await call<OperationOut>('POST', '/dead-letters/redrive', {
        filter: {},
        ...(perSecond !== undefined && { perSecond }),
        ...riskOf(act),
      })
      const { done, skipped } = await followed(begun, call, { signal, onProgress })
      const stays = skipped
        ? `; ${skipped} stay: the target may have forgotten their key, or there is no room for their callbacks`
        : ''
      return `${plural(done - skipped, 'task')} redriven${stays}`
    }
    case 'purgeAll': {
      const begun = await call<OperationOut>('POST', '/dead-letters/purge', { filter: {}, confirm: act.count })
      return `${plural((await followed(begun, call, {})).done, 'dead letter')} deleted`
    }
  }
}

const riskOf = ({ acceptDuplicateRisk = false }: { readonly acceptDuplicateRisk?: boolean }) => ({
  acceptDuplicateRisk,
})

/** Pauses of the origin alone, or all of them: those are what keeps it back. */
async function resume(origin: string | undefined, call: ServiceCall, pauses: readonly PauseOut[]): Promise<string> {
  const lifted = pauses.filter((pause) => origin === undefined || pause.origin === origin)
  for (const { pauseId } of lifted) await call('DELETE', pathOf('pauses', pauseId))
  return lifted.length > 0 ? 'resumed' : 'nothing of it is paused by itself'
}

interface Followed {
  readonly signal?: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** Looks at an operation until it is over. It goes on in the service whether anybody looks or not. */
async function followed(
  begun: OperationOut,
  call: ServiceCall,
  { signal, onProgress }: Followed,
): Promise<OperationOut> {
  const path = pathOf('operations', begun.operationId)
  let operation = begun
  let isStopping = false
  while (operation.status === 'RUNNING' || operation.status === 'STOPPING') {
    onProgress?.(operation.done, operation.total)
    await pause(LOOK_MS, signal)
    if (signal?.aborted && !isStopping) {
      isStopping = true
      operation = await call('DELETE', path)
    } else operation = await call('GET', path)
  }
  return operation
}

/** Ends early where it is to stop. */
const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const disarm = systemClock.after(ms, resolve)
    if (signal && !signal.aborted) {
      whenAborted(signal, () => {
        disarm()
        resolve()
      })
    }
  })
