/**
 * Claiming what is due. Only lanes that are ready are looked at, and of each only the first task: a held lane with fifty
 * thousand due tasks costs nothing, a ready one a few steps down an index for each priority in it.
 */

import { type Claim, type StoredTask, SWEEP, type Turn } from '../../api/store.ts'
import { refusal } from '../rules.ts'
import { endUntold, takeLease } from './change.ts'
import type { Lane, LaneRow } from './lanes.ts'
import { storedTask, type TaskRow } from './rows.ts'
import { collect } from './sweep.ts'
import { WAITING } from './tables.ts'
import type { Transaction } from './transaction.ts'

export interface Claimed {
  readonly claimed: Turn['claimed']
  readonly ended: readonly StoredTask[]
  readonly blockedByLimit: boolean
  /** More was due than `limit`. */
  readonly more: boolean
}

/** A lane that may be claimed from, and its first due task. */
interface Candidate {
  readonly lane: Lane
  /** Tasks that may still be claimed from it. */
  left: number
  head: TaskRow | undefined
}

export function claimDue(tx: Transaction, owner: string, claim: Claim): Claimed {
  const claimed: Turn['claimed'][number][] = []
  const ended: StoredTask[] = []
  const taken = new Map<string, number>()
  let candidates = candidatesOf(tx, owner, claim, taken)
  const open = ({ head, left, lane }: Candidate): boolean => !!head && left > 0 && lane.inFlight < claim.perLane
  for (let spoilt = 0; claimed.length < claim.limit && tx.state.inFlight < claim.total && spoilt < SWEEP; ) {
    const first = candidates.filter(open).reduce<Candidate | undefined>(earlier, undefined)
    if (!first?.head) break
    const row = first.head
    const task = storedTask(row)
    const reason = task && refusal(task, tx.now)
    if (!task || reason) spoilt++
    if (!task) tx.putAside(row)
    else if (reason) {
      endUntold(tx, row, reason)
      collect(ended, row)
    } else {
      const lease = takeLease(tx, row, owner, claim.leaseMs)
      first.left--
      taken.set(row.lane, (taken.get(row.lane) ?? 0) + 1)
      claimed.push({ task: storedTask(row) ?? task, lease })
    }
    if (row.endedAt !== null && row.orderKey !== null) {
      tx.flush() // the next of its order, in whatever lane, may be due now
      candidates = candidatesOf(tx, owner, claim, taken)
    } else first.head = headOf(tx, owner, claim, first.lane.name)
  }
  const waiting = candidates.filter(({ head, left }) => head && left > 0)
  const full = tx.state.inFlight >= claim.total
  return {
    claimed,
    ended,
    blockedByLimit: waiting.some(({ lane }) => full || lane.inFlight >= claim.perLane),
    more: !full && waiting.some(({ lane }) => lane.inFlight < claim.perLane),
  }
}

function candidatesOf(tx: Transaction, owner: string, claim: Claim, taken: ReadonlyMap<string, number>): Candidate[] {
  const bounds = boundsOf(claim)
  const ready =
    claim.lanes === 'any'
      ? tx.database.all<LaneRow>(
          'SELECT * FROM lanes WHERE principal IS ? AND readyAt <= ? ORDER BY name',
          claim.principal,
          tx.now,
        )
      : [...bounds.keys()].flatMap((lane) =>
          tx.database.all<LaneRow>(
            'SELECT * FROM lanes WHERE name = ? AND principal IS ? AND readyAt <= ?',
            lane,
            claim.principal,
            tx.now,
          ),
        )
  const candidates: Candidate[] = []
  for (const { name, principal } of ready) {
    const left = (bounds.get(name) ?? Number.POSITIVE_INFINITY) - (taken.get(name) ?? 0)
    if (left <= 0) continue
    const lane = tx.lane({ lane: name, principal })
    candidates.push({ lane, left, head: headOf(tx, owner, claim, name) })
  }
  return candidates
}

/** Most that may be claimed from a lane; lanes that are not named are unbounded with 'any', and out of it otherwise. */
export function boundsOf({ lanes, bounds = [] }: Claim): ReadonlyMap<string, number> {
  return new Map((lanes === 'any' ? bounds : lanes).map(({ lane, max }) => [lane, max]))
}

function headOf(tx: Transaction, owner: string, claim: Claim, lane: string): TaskRow | undefined {
  const [ours, ...values] = oursOf(owner, claim)
  let priority = highestPriority(tx, lane, Number.POSITIVE_INFINITY)
  while (priority !== undefined) {
    const head = tx.database.one<TaskRow>(
      `SELECT * FROM tasks INDEXED BY tasks_due WHERE lane = ? AND ${WAITING} AND priority = ? AND dueAt <= ? ${ours}
        ORDER BY dueAt, seq LIMIT 1`,
      lane,
      priority,
      tx.now,
      ...values,
    )
    if (head) return head
    priority = highestPriority(tx, lane, priority)
  }
  return undefined
}

/** A condition, and its value where it has one. */
function oursOf(owner: string, { skipHomes, ownHomeOnly }: Claim): [string, ...string[]] {
  if (ownHomeOnly) return ['AND home = ?', owner]
  if (skipHomes.length === 0) return ['']
  const homes = JSON.stringify(skipHomes.filter((home) => home !== owner))
  return ['AND (home IS NULL OR home NOT IN (SELECT value FROM json_each(?)))', homes]
}

function highestPriority(tx: Transaction, lane: string, below: number): number | undefined {
  return tx.database.one<{ priority: number }>(
    `SELECT priority FROM tasks INDEXED BY tasks_due WHERE lane = ? AND ${WAITING} AND priority < ? ORDER BY priority DESC LIMIT 1`,
    lane,
    below,
  )?.priority
}

/** Higher priority, then the lane served longest ago, then due first, then by name. */
function earlier(best: Candidate | undefined, other: Candidate): Candidate {
  if (!best?.head || !other.head) return best ?? other
  const order =
    other.head.priority - best.head.priority ||
    best.lane.served - other.lane.served ||
    (best.head.dueAt ?? 0) - (other.head.dueAt ?? 0)
  return order > 0 || (order === 0 && other.lane.name < best.lane.name) ? other : best
}
