/** Brings together what is judged after a run: from the API, from the target, and from what clients and operator wrote down. */

import type { Counts } from '../checks.ts'
import { ask } from './ask.ts'
import { type Clients, tenantHeader } from './clients.ts'
import { Index, receipts, type Said, type ServiceFacts, type TaskRow } from './facts.ts'
import type { Fleet } from './fleet.ts'
import type { Intent } from './intents.ts'
import type { Operator } from './operator.ts'
import { CONCURRENCY, EXIT_MS, type Options, PER_ORIGIN } from './options.ts'
import type { Receiver } from './receiver.ts'
import type { Target } from './target.ts'

export interface Story
  extends Pick<ServiceFacts, 'samples' | 'quiet' | 'drained' | 'stoodStillMs' | 'mayStandStillMs'> {
  readonly options: Options
  readonly intents: readonly Intent[]
  readonly fleet: Fleet
  readonly clients: Clients
  readonly operator: Operator
  readonly target: Target
  readonly receiver: Receiver
  readonly tookMs: number
}

const PAGE = 1_000
const PATIENCE_MS = 20_000
/** Stories that are asked for at once. */
const AT_ONCE = 4

/** Reads what the API lists, by any of its processes. */
export async function read(fleet: Fleet, path: string, tenant: string | null = null): Promise<unknown> {
  const at = fleet.ready[0]
  const told = at && (await ask(at.url, { method: 'GET', path, headers: tenantHeader(tenant) }, at.agent, PATIENCE_MS))
  if (told?.kind === 'answered' && told.status === 200) return told.json
  throw new Error(`GET ${path}: ${JSON.stringify(told ?? 'no process is ready')}`)
}

export const readCounts = async (fleet: Fleet): Promise<Counts> =>
  ((await read(fleet, '/stats')) as { readonly counts: Counts }).counts

export const readRows = (fleet: Fleet): Promise<readonly TaskRow[]> => listed(fleet, '/retry-tasks')

export const readStory = async (fleet: Fleet, taskId: string): Promise<readonly Said[]> =>
  ((await read(fleet, `/retry-tasks/${taskId}/explain`)) as { readonly decisions: readonly Said[] }).decisions

/** Reads the store by its API, so at least one process has to answer. The ends of processes come after it, and are in the facts that are asked for then. */
export async function gather(story: Story): Promise<{ readonly facts: () => ServiceFacts; readonly index: Index }> {
  const { fleet, clients, operator, target, receiver, intents } = story
  const calls = [...clients.calls, ...operator.calls]
  const rows = await readRows(fleet)
  const dead = await listed(fleet, '/dead-letters')
  const found = new Map<string, TaskRow>()
  const stories = new Map<string, readonly Said[]>()
  const firsts = new Map(
    receipts(calls)
      .map(({ intent, taskId = '' }) => [intent, taskId])
      .reverse() as [string, string][],
  )
  const tenants = new Map(intents.map(({ name, tenant }) => [name, tenant]))
  await each([...firsts], async ([intent, taskId]) => {
    const at = fleet.ready[0]
    const asked = { method: 'GET', path: `/retry-tasks/${taskId}`, headers: tenantHeader(tenants.get(intent) ?? null) }
    const told = at && (await ask(at.url, asked, at.agent, PATIENCE_MS))
    if (told?.kind === 'answered' && told.status === 200) found.set(intent, told.json as TaskRow)
  })
  await each(rows, async ({ taskId }) => {
    stories.set(taskId, await readStory(fleet, taskId))
  })
  const counts = await readCounts(fleet)
  const facts = (): ServiceFacts => ({
    ...story,
    ...{ calls, rows, found, stories, counts, visits: target.visits, effects: target.effects, targets: target.urls },
    callbacks: receiver.visits,
    deadLetters: dead.map(({ taskId }) => taskId),
    ...{ pauses: operator.pauses, redriven: operator.redriven, failedOperations: operator.failed },
    ...{ struck: fleet.struck, exits: fleet.exits, deaths: fleet.deaths },
    ...{ limit: CONCURRENCY, limitPerOrigin: PER_ORIGIN, exitMs: EXIT_MS },
  })
  return { facts, index: new Index(facts()) }
}

async function listed(fleet: Fleet, path: string): Promise<TaskRow[]> {
  const rows: TaskRow[] = []
  for (let cursor: string | undefined; ; ) {
    const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = (await read(fleet, `${path}?limit=${PAGE}${more}`)) as {
      readonly tasks: readonly TaskRow[]
      readonly cursor?: string
    }
    rows.push(...page.tasks)
    cursor = page.cursor
    if (cursor === undefined) return rows
  }
}

async function each<T>(list: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...list]
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item)
    }),
  )
}
