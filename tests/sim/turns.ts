/** What the book makes of a turn: what was settled, renewed, ended and claimed. */

import type { Settlement, Step, StoredTask, Turn } from '../../js/api/store.ts'
import { MOST_REFUNDS } from '../../js/api/store.ts'
import type { Book } from './book.ts'
import type { Known } from './known.ts'
import { keepsWord } from './words.ts'

/** `lastToken`: the last that the book knew when the turn was asked for. Of two turns under way the later may be answered first. */
export function turned(book: Book, owner: string, step: Step, turn: Turn, lastToken: number): void {
  for (const [i, settlement] of step.settle.entries()) settled(book, owner, settlement, turn.settled[i])
  for (const { lane, forMs } of step.hold ?? []) book.hold(lane, forMs, `${owner} holds ${lane}`)
  for (const [i, { taskId, token, forMs }] of step.renew.entries()) {
    const known = book.tasks.get(taskId)
    const said = turn.renewed[i]
    book.note(() => `${owner} renew ${taskId}: ${said}`)
    const holds = known?.status === 'IN_FLIGHT' && known.token === token
    if (said === 'lost' || said === undefined) {
      book.expect(!holds || book.isLoose(known), 'S3', () => `the lease ${token} of ${taskId} is in force, and lost`)
      continue
    }
    book.expect(holds, 'S3', () => `the lease ${token} of ${taskId} was renewed, and is not its own`)
    if (known) lease(book, known, forMs)
  }
  const { trimmed = [] } = turn
  book.expect(
    trimmed.length === 0,
    'S17',
    () => `${trimmed.length} dead letters were deleted, which no world lives to see`,
  )
  for (const ended of turn.ended) endedByTime(book, ended)
  const { claim } = step
  for (const { task, lease: given } of turn.claimed) {
    book.totals.claims++
    book.note(() => `${owner} claim ${task.taskId} token ${given.token} attempt ${task.attemptNumber}`)
    const { token } = given
    const isNew = token > lastToken && !book.leases.has(token)
    book.expect(isNew, 'S4', () => `token ${token} was given after ${lastToken}, or twice`)
    if (claim) claimed(book, owner, task, given, claim.principal)
    else book.fail('S7', `${task.taskId} was claimed unasked`)
  }
  if (book.limits.seesTheGone) takenBack(book, turn)
}

/** What belonged to processes that are gone is in flight no longer than until the next look. Tasks that the book takes for in flight may be more. */
function takenBack(book: Book, { counts }: Turn): void {
  const isSeen = (holder: string) => (book.gone.get(holder) ?? Number.POSITIVE_INFINITY) + LOOK_MS <= book.time.elapsed
  const held = [...book.tasks.values()].filter(({ status, holder }) => status === 'IN_FLIGHT' && !isSeen(holder))
  const inFlight = counts?.inFlight ?? 0
  book.expect(inFlight <= held.length, 'L2', () => `${inFlight} are in flight, of live processes ${held.length}`)
}

/** Processes that share a file look for each other this often. */
const LOOK_MS = 500

function settled(
  book: Book,
  owner: string,
  { lease: { taskId, token }, next, ...rest }: Settlement,
  said?: string,
): void {
  const known = book.tasks.get(taskId)
  book.totals.settled++
  book.note(() => `${owner} settle ${taskId} token ${token} ${JSON.stringify(next)}: ${said}`)
  if (said === 'gone' || !known) {
    book.expect(!known || known.status === 'PURGED', 'S1', () => `${taskId} ${known?.status} is gone at its settlement`)
    return
  }
  const holds = known.status === 'IN_FLIGHT' && known.token === token
  const success = next.kind === 'succeeded'
  const repeats = known.settledBy === token || (success && known.status === 'SUCCEEDED')
  const what = () => `token ${token} settles ${taskId}, which is ${known.status} under ${known.token}: ${said}`
  const lease = book.leases.get(token)
  const endedAt = book.ended.get(token)
  const late = lease && endedAt !== undefined ? endedAt - lease.at - lease.forMs : 0
  book.expect(
    success || !book.limits.isFenced || late <= 0,
    'S4',
    () => `${what()}; its attempt ended ${late} ms after its lease`,
  )
  if (said === 'cancelled' && known.status === 'CANCELLED') return
  if (said === 'repeated' || said === 'stale') {
    const fits = said === 'repeated' ? repeats : !repeats && !success && (!holds || book.isLoose(known))
    book.expect(fits, 'S4', what)
    return
  }
  book.expect(!repeats, 'S14', what)
  book.expect(!book.running.has(token), 'S4', () => `${what()}; its attempt goes on`)
  book.expect(holds || success, 'S4', what)
  book.expect((said === 'cancelled') === (known.cancelRequested && holds && !success), 'S8', what)
  if (said !== 'cancelled') keepsWord(book, known.intent, token, next)
  known.settledBy = token
  book.hold(known.lane, rest.holdLaneForMs ?? 0, `${owner} settles ${taskId}`)
  if (said === 'cancelled') known.status = 'CANCELLED'
  else if (success) known.status = 'SUCCEEDED'
  else if (next.kind === 'exhausted') known.status = 'EXHAUSTED'
  else {
    known.status = 'PENDING'
    book.due(known, book.measure + next.delayMs)
    known.floorAt = book.measure + (next.serverMs ?? 0)
    known.parked = next.kind === 'release' && next.park === true
    if (next.kind === 'release' && next.refund && (next.offline || known.refunds < MOST_REFUNDS)) {
      if (!next.offline) known.refunds++
      known.attempts--
    }
  }
}

function endedByTime(book: Book, { taskId, status, reason }: StoredTask): void {
  const known = book.tasks.get(taskId)
  book.note(() => `ended ${taskId} ${status} ${reason}`)
  const fits = known?.status === 'PENDING' || (known && book.isLoose(known))
  book.expect(!!fits, 'S3', () => `${taskId} ${known?.status} was ended by time while its lease was in force`)
  if (known) known.status = status
}

function claimed(
  book: Book,
  owner: string,
  task: StoredTask,
  { token, forMs }: { readonly token: number; readonly forMs: number },
  principal: string | null,
): void {
  const { taskId } = task
  const known = book.tasks.get(taskId)
  if (!known) {
    book.fail('S1', `${taskId} was claimed, and nobody stored it`)
    return
  }
  const { status, attempts, maxAttempts } = known
  const { total, perLane } = book.limits
  const inForce = status === 'IN_FLIGHT' && !book.isLoose(known)
  book.expect(!inForce, 'S3', () => `${taskId} was claimed while ${known.holder} has it`)
  book.expect(status === 'PENDING' || status === 'IN_FLIGHT', 'S8', () => `${taskId} ${status} was claimed`)
  book.expect(attempts < maxAttempts, 'S8', () => `${taskId} begins attempt ${attempts + 1} of ${maxAttempts}`)
  book.expect(
    task.attemptNumber === attempts + 1,
    'S8',
    () => `${taskId}: ${attempts} counted, ${task.attemptNumber} said`,
  )
  book.expect(
    known.principal === principal,
    'S16',
    () => `${taskId} of ${known.principal} was claimed for ${principal}`,
  )
  const { session, logins } = book
  book.expect(logins.size === 0, 'S16', () => `${taskId} was claimed while ${[...logins.values()]} logs in`)
  const isThere = session === undefined || session === known.principal
  book.expect(isThere, 'S16', () => `${taskId} of ${known.principal} was claimed, and ${session} is there`)
  book.expect(task.idempotencyKey === known.key, 'S5', () => `${taskId} has another key: ${task.idempotencyKey}`)
  book.expect(!known.cancelRequested, 'S8', () => `${taskId} was claimed, and its end was asked for`)
  book.expect(!known.parked, 'S8', () => `${taskId} was claimed, and is parked`)
  const early = known.dueAt - book.measure
  book.expect(status !== 'PENDING' || early <= 0, 'S9', () => `${taskId} was claimed ${early} ms before it was due`)
  const held = book.lane(known.lane).heldUntil - book.measure
  book.expect(held <= 0, 'S9', () => `${taskId} was claimed while its lane is held for ${held} ms`)
  book.lane(known.lane).owesChance = false
  const first = book.before(known)
  book.expect(!first, 'S19', () => `${taskId} was claimed before ${first?.taskId} of its order has ended`)
  book.expect(book.inForce() < total, 'S7', () => `${taskId} is claimed beyond ${total} in all`)
  book.expect(book.inForce(known.lane) < perLane, 'S7', () => `${taskId} is claimed beyond ${perLane} in its lane`)
  book.lastToken = Math.max(book.lastToken, token)
  known.status = 'IN_FLIGHT'
  known.attempts = task.attemptNumber
  known.token = token
  known.holder = owner
  lease(book, known, forMs)
}

function lease(book: Book, known: Known, forMs: number): void {
  known.leaseUntil = book.measure + forMs
  known.leasedAt = book.time.elapsed
  known.leaseMs = forMs
  book.leases.set(known.token, { at: book.time.elapsed, forMs })
  // it died while it was given this
  if (book.gone.has(known.holder)) book.loosen(known.holder)
}
