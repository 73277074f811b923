/** Brings together what is judged after a run: from the API, from the target, and from what clients and operator wrote down. */

import type { Counts } from '../checks.ts'
import type { Figure } from '../evidence.ts'
import { ask } from './ask.ts'
import { type Clients, tenantHeader } from './clients.ts'
import { Index, receipts, type Said, type ServiceFacts, type TaskRow } from './facts.ts'
import type { Fleet } from './fleet.ts'
import type { Intent } from './intents.ts'
import type { Operator } from './operator.ts'
import { CONCURRENCY, EXIT_MS, type Options, PER_ORIGIN } from './options.ts'
import type { Target } from './target.ts'

/** All that has happened. */
export interface Story extends Pick<ServiceFacts, 'samples' | 'drained' | 'stoodStillMs' | 'mayStandStillMs'> {
  readonly options: Options
  readonly intents: readonly Intent[]
  readonly fleet: Fleet
  readonly clients: Clients
  readonly operator: Operator
  readonly target: Target
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

/** Reads the store by its API, so at least one process has to answer. The ends of processes come after it, and are in the facts that are asked for then. */
export async function gather(story: Story): Promise<{ readonly facts: () => ServiceFacts; readonly index: Index }> {
  const { fleet, clients, operator, target, intents } = story
  const calls = [...clients.calls, ...operator.calls]
  const rows = await listed(fleet, '/retry-tasks')
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
    const { decisions } = (await read(fleet, `/retry-tasks/${taskId}/explain`)) as {
      readonly decisions: readonly Said[]
    }
    stories.set(taskId, decisions)
  })
  const counts = await readCounts(fleet)
  const facts = (): ServiceFacts => ({
    ...story,
    ...{ calls, rows, found, stories, counts, visits: target.visits, effects: target.effects, targets: target.urls },
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

export function figuresOf(
  { options, fleet, clients, tookMs, samples }: Story,
  facts: ServiceFacts,
  index: Index,
): readonly Figure[] {
  const { calls, visits, rows, exits, stories, redriven, pauses } = facts
  const answered = calls.filter(({ outcome }) => outcome === 'answered')
  const posts = calls.filter(({ kind }) => kind === 'post' || kind === 'again')
  const of = (status: string) => rows.filter((row) => row.status === status).length
  const outcomes = tally(visits.map(({ outcome }) => outcome ?? 'open'))
  const told = tally([...stories.values()].flatMap((story) => story.map(({ kind }) => kind)))
  const unknown = visits.filter(({ by }) => by === null).length
  const count = (kind: Parameters<Fleet['count']>[0]) => fleet.count(kind)
  return [
    ['tasks asked for', clients.asked, `${calls.length} requests by clients`],
    [
      'acknowledged',
      clients.acknowledged,
      `${posts.filter(({ status }) => status === 200).length} times as there already`,
    ],
    [
      'not answered',
      calls.length - answered.length,
      words(tally(calls.filter((call) => !answered.includes(call)).map(({ outcome }) => outcome))),
    ],
    [
      'refused for now',
      answered.filter(({ status }) => status === 503).length,
      words(tally(answered.filter(({ status }) => status === 503).map(({ said = '' }) => said))),
    ],
    ['succeeded', of('SUCCEEDED'), ''],
    ['dead letters', of('EXHAUSTED'), `${[...redriven.values()].reduce((sum, times) => sum + times, 0)} redrives`],
    ['cancelled', of('CANCELLED'), ''],
    ['processes killed', count('kill'), `${fleet.lives} started`],
    ['stopped past their leases', count('stop'), ''],
    [
      'told to end while they worked',
      count('drain'),
      `the slowest took ${Math.max(0, ...exits.map(({ tookMs }) => tookMs))} ms`,
    ],
    ...(options.store === 'redis'
      ? [['Redis killed', count('redis'), 'it syncs its file before it answers'] as const]
      : []),
    ['pauses of an origin', pauses.length, ''],
    ['requests at the target', visits.length, words(outcomes)],
    ['  answered from the key', outcomes.get('repeated') ?? 0, 'duplicates: the work was done, the answer lost'],
    ['  of an unknown process', unknown, 'it had ended before it could be asked'],
    ['attempts lost with their process', told.get('lost') ?? 0, `${told.get('released') ?? 0} given back`],
    ['most attempts of a task', Math.max(0, ...rows.map(({ attemptNumber }) => attemptNumber)), ''],
    ['most visits of a task', Math.max(0, ...[...index.visits.values()].map((each) => each.length)), ''],
    ['/stats read', samples.length, ''],
    ['seconds', (tookMs / 1_000).toFixed(1), `${Math.round(facts.stoodStillMs)} ms without a move after the blows`],
  ]
}

function tally(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const words = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, count]) => `${count} ${name}`).join(', ')
