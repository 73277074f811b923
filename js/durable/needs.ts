/**
 * The options that stored tasks need of the queue which sends them. A request whose queue signs it, adds a token, or has its key in a header of
 * its own, is another one without; so a process that lacks that, a script that only looks or an older deploy, leaves it to one that has it. A key
 * in the default header, bare or quoted, goes out as it did before, whatever header and format the sending queue has.
 */

import { type Claim, homeOf, type StoredTask, type TaskStore, type Turn } from '../api/store.ts'
import type { Call } from '../call/call.ts'
import { giversOf } from '../options/givers.ts'
import { type IdempotencySettings, KEY_HEADER } from '../options/idempotency.ts'
import type { Settings } from '../options/queue-options.ts'
import type { QueueContext } from '../runner/context.ts'
import { giverFor, originOf } from '../runner/credentials.ts'
import type { Runner } from '../runner/runner.ts'

const SIGN = 'sign'
const entryOf = (origin: string): string => `credentials ${origin}`
const HEADER = 'header '
/** A need that every queue can meet: the key goes out in quotes. */
const QUOTED = 'format sf-string'

/** This queue's own part of all that tasks may need, in the order in which a task names it. */
function supplyOf({ credentials, idempotency, sign }: Settings) {
  const header = idempotency.header.toLowerCase()
  return {
    entries: [...giversOf(credentials).keys()].map(entryOf),
    header: header === KEY_HEADER.toLowerCase() ? [] : [HEADER + header],
    sign: sign ? [SIGN] : [],
  }
}

/** The needs of a call that is stored here, wherever it is sent from. */
export function needsOf(call: Call, settings: Settings): readonly string[] {
  const { header, sign } = supplyOf(settings)
  const entry = giverFor(settings, call) ? [entryOf(originOf(call))] : []
  const format = settings.idempotency.format === 'sf-string' ? [QUOTED] : []
  return [...entry, ...(call.key === null ? [] : [...header, ...format]), ...sign]
}

/** The header that a stored task's key goes out in, and its form: those of its first attempt (S5). */
export function keyFormOf({ needs = [] }: Pick<StoredTask, 'needs'>): Pick<IdempotencySettings, 'header' | 'format'> {
  const own = needs.find((need) => need.startsWith(HEADER))?.slice(HEADER.length)
  return { header: own ?? KEY_HEADER, format: needs.includes(QUOTED) ? 'sf-string' : 'bare' }
}

/** Where a stored task without a caller is at home: with the queues that have what not all of them do. */
export const homeByNeeds = (needs: readonly string[] = []): string | null =>
  homeOf(needs.filter((need) => need !== QUOTED))

/** The needs of a task that this queue lacks. */
export function lacking({ needs = [] }: Pick<StoredTask, 'needs'>, settings: Settings): readonly string[] {
  if (needs.length === 0) return needs
  const supplied = [QUOTED, ...Object.values(supplyOf(settings)).flat()]
  return needs.filter((need) => !supplied.includes(need))
}

/** Words for people: the options that would be needed. */
export const optionsOf = (needs: readonly string[]): string =>
  needs.map((need) => `\`${optionOf(need)}\``).join(' and ')

function optionOf(need: string): string {
  const [what, name] = need.split(' ')
  if (what === 'header') return `idempotency: { header: '${name}' }`
  return what === 'credentials' ? `credentials['${name}']` : need
}

/** Tasks that are looked at, and how often. */
const LOOKED_AT = 64
const LOOK_MS = 60_000

/** Finds out that due tasks wait for what this queue does not have: a claim does not see them, and a turn only shows that they are there. */
export class Lacking {
  /** The needs that were missing at the last look. */
  needs: readonly string[] = []
  /** Homes of tasks that this queue can serve. */
  readonly supplied: readonly string[]
  readonly #store: TaskStore
  readonly #runner: Runner
  #lookAt = 0

  constructor(store: TaskStore, runner: Runner) {
    this.#store = store
    this.#runner = runner
    this.supplied = homesSupplied(runner.host.settings)
  }

  /** Looks where a turn has left due tasks alone; gives whether some are left to other processes for what this one lacks. */
  async look(turn: Turn, claim: Claim): Promise<boolean> {
    const { host } = this.#runner
    const isLeft = turn.lanes.some(({ pending, nextInMs }) => pending > 0 && nextInMs === 0)
    if (turn.claimed.length > 0 || claim.ownHomeOnly || !isLeft) {
      if (!isLeft) this.needs = []
      return false
    }
    if (host.now() < this.#lookAt) return false
    this.#lookAt = host.now() + LOOK_MS
    const whose = this.#store.everyone ? {} : { principal: claim.principal }
    const { tasks } = await this.#store.list({ status: 'PENDING', ...whose, limit: LOOKED_AT })
    const found = tasks.map((task) => ({ task, missing: lacking(task, host.settings) }))
    this.needs = [...new Set(found.flatMap(({ missing }) => missing))]
    const originsOf = new Map<string, Set<string>>()
    for (const { task, missing } of found) {
      if (missing.length === 0) continue
      const options = optionsOf(missing)
      const origins = originsOf.get(options) ?? new Set()
      originsOf.set(options, origins.add(new URL(task.targetUrl).origin))
    }
    for (const [options, origins] of originsOf) report(host, options, [...origins])
    return this.needs.length > 0
  }
}

/** Origins that a report names; the others are counted. */
const NAMED = 3

function report(host: QueueContext, options: string, origins: readonly string[]): void {
  const [origin] = origins
  const more = origins.length - NAMED
  const others = more > 0 ? ` and ${more} more origin${more === 1 ? '' : 's'}` : ''
  const what = `tasks to ${origins.slice(0, NAMED).join(', ')}${others} were stored by a queue with ${options}, which this one does not have`
  const about = origin !== undefined && origins.length === 1 ? { origin } : {}
  host.degraded('credentials_missing', `${what}: they wait for a queue that has it`, `needs ${options}`, about)
}

/** The homes of tasks whose needs this queue can serve: of each kind a task needs one or none. */
function homesSupplied(settings: Settings): readonly string[] {
  const kinds = Object.values(supplyOf(settings))
  const all = kinds.reduce<string[][]>(
    (some, kind) => some.flatMap((needs) => [needs, ...kind.map((need) => [...needs, need])]),
    [[]],
  )
  return all.flatMap((needs) => homeOf(needs) ?? [])
}
