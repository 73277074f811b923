/** One atomic step of a runner: packed for the script, and what it answers. */

import type { Buffer } from 'node:buffer'
import type { StoredTask } from '../../api/records.ts'
import { originIn, principalIn } from '../../api/records.ts'
import {
  type Claim,
  type ClaimedTask,
  type Counts,
  LANES_SHOWN,
  type LaneView,
  type Lease,
  type Settlement,
  type Step,
  type Trimmed,
  type Turn,
  UNTOLD_COUNTED,
} from '../../api/store.ts'
import { type Limit, limitsIn } from '../engine/limits.ts'
import { boundsOf } from '../engine/lineup.ts'
import { wasSent } from '../engine/rules.ts'
import { storedTask } from '../engine/shown.ts'
import { idBytes, idText, principalTag } from './names.ts'
import { Packer } from './packed.ts'
import type { Arg, Reply } from './port.ts'
import { turnScript } from './scripts.ts'
import type { Session } from './session.ts'
import { bodyBeside, type Kept, keptIn, logText, rowIn, taskIn, tokenIn } from './task.ts'

const KINDS = ['succeeded', 'retry', 'exhausted', 'release'] as const
const FLAGS = { refund: 1, park: 2, carry: 4, sent: 8, saysCancelled: 16, offline: 32 } as const
const SETTLED: readonly Turn['settled'][number][] = ['applied', 'repeated', 'stale', 'cancelled', 'gone']
const RENEWED: readonly Turn['renewed'][number][] = ['renewed', 'lost', 'cancelled']

export async function turn(session: Session, step: Step): Promise<Turn> {
  const { claim } = step
  const answer = await session.write(turnScript, argsOf(step, session.everyone), claim ? 'never' : 'safe')
  const { made, damaged } = await readTurn(session, step, answer)
  if (!claim || damaged.length === 0) return made
  // no script reads a record: what cannot be read is put aside now, and others are claimed in its place
  const found = (await session.command('aside', String(damaged.length), ...damaged)) as number
  const limit = claim.limit - made.claimed.length
  const rest = await turn(session, { owner: step.owner, settle: [], renew: [], claim: { ...claim, limit } })
  const unreadable = found + (made.unreadable ?? 0) + (rest.unreadable ?? 0)
  return {
    ...rest,
    settled: made.settled,
    renewed: made.renewed,
    claimed: [...made.claimed, ...rest.claimed],
    ended: [...made.ended, ...rest.ended],
    ...(made.trimmed !== undefined && { trimmed: made.trimmed }),
    ...(unreadable > 0 && { unreadable }),
  }
}

function argsOf({ owner, settle, hold = [], renew, claim, silence, isBrief }: Step, everyone: boolean): Arg[] {
  const head = new Packer(80)
    .u32(settle.length, hold.length, renew.length)
    .u8(claim ? 1 : 0, isBrief ? 1 : 0)
    .f64(silence?.since ?? MANY, silence?.graceMs ?? 0)
    .text(owner)
    .done()
  return [
    head,
    ...settle.flatMap((settlement) => [settlementBytes(settlement), logText(settlement.log)]),
    ...hold.map(({ lane, forMs }) =>
      new Packer(96)
        .f64(forMs)
        .bytes(principalTag(principalIn(lane)))
        .text(lane)
        .done(),
    ),
    ...renew.map(({ taskId, token, forMs }) => new Packer(32).f64(token, forMs).bytes(idBytes(taskId)).done()),
    ...(claim ? claimArgs(claim, everyone) : []),
  ]
}

function settlementBytes({ lease: { taskId, token }, log, next, holdLaneForMs = 0 }: Settlement): Buffer {
  const goesOn = 'delayMs' in next ? next : undefined
  const { delayMs = 0, serverMs = 0, carry } = goesOn ?? {}
  const released = next.kind === 'release' ? next : undefined
  const flags =
    (released?.refund ? FLAGS.refund : 0) |
    (released?.offline ? FLAGS.offline : 0) |
    (released?.park ? FLAGS.park : 0) |
    (carry ? FLAGS.carry : 0) |
    (wasSent(log) ? FLAGS.sent : 0) |
    (log.kind === 'cancelled' ? FLAGS.saysCancelled : 0)
  const { phase = 0, previousDelayMs = 0 } = carry ?? {}
  const { marks = 0 } = carry ?? (next.kind === 'exhausted' ? next : {})
  const id = idBytes(taskId)
  return new Packer(96)
    .f64(token)
    .u8(KINDS.indexOf(next.kind), flags)
    .f64(delayMs, serverMs, phase, previousDelayMs)
    .u32(marks)
    .f64(holdLaneForMs)
    .u32(id.length)
    .bytes(id)
    .text(next.kind === 'exhausted' ? next.reason : '')
    .done()
}

const MANY = Number.POSITIVE_INFINITY
const MODES = { leastTried: 1, untried: 2 } as const

function claimArgs(
  { limit, leaseMs, total, perLane, principal, lanes, skipHomes, ownHomeOnly, ...rest }: Claim,
  everyone: boolean,
): Arg[] {
  const { bounds = [], otherMax = MANY, perPrincipal = MANY, perFree = MANY, supplied } = rest
  const limits = limitsIn(everyone ? rest.limits : undefined)
  const listed = lanes === 'any' ? bounds : lanes
  const modes = new Map(
    bounds.map((bound) => [bound.lane, bound.untried ? MODES.untried : bound.leastTried ? MODES.leastTried : 0]),
  )
  const head = new Packer(96)
    .f64(limit, leaseMs, total, perLane, otherMax)
    .u8(lanes === 'any' ? 1 : 0, ownHomeOnly ? 1 : 0, supplied ? 1 : 0)
    .u32(listed.length, skipHomes.length, supplied?.length ?? 0, limits.size)
    .f64(perPrincipal, perFree)
    .bytes(principalTag(principal))
    .done()
  const boundArgs = listed.map(({ lane, max }) =>
    new Packer(96)
      .f64(max)
      .u8(modes.get(everyone ? originIn(lane) : lane) ?? 0)
      .text(lane)
      .done(),
  )
  return [head, ...boundArgs, ...skipHomes, ...(supplied ?? []), ...[...limits].map(limitBytes)]
}

function limitBytes([origins, { concurrency, isShared, rate }]: readonly [string, Limit]): Buffer {
  const { intervalMs = 0, leadMs = 0 } = rate ?? {}
  return new Packer(96)
    .f64(concurrency)
    .u8(isShared ? 1 : 0)
    .f64(intervalMs, leadMs)
    .text(origins)
    .done()
}

interface Read {
  readonly made: Turn
  /** The token and the id of each task that was claimed and cannot be read. */
  readonly damaged: readonly Buffer[]
}

async function readTurn(session: Session, step: Step, answer: readonly Reply[]): Promise<Read> {
  const [head, settled, renewed, claims, ends, lanes, tokens, letters] = answer
  const state = head as Buffer
  const claimed = keptIn(claims as Reply)
  const ended = keptIn(ends as Reply)
  await session.learn([...claimed, ...ended])
  const number = (i: number): number => state.readDoubleBE(i)
  const [now, offset, nextInMs] = [number(0), number(8), number(16)]
  const counters = (i: number): number => number(26 + 8 * i)
  const read = (kept: Kept): StoredTask | undefined => taskIn(kept, session.records, offset)
  const given: ClaimedTask[] = []
  const damaged: Buffer[] = []
  for (const kept of claimed) {
    const row = rowIn(kept, session.records, offset)
    const task = row && storedTask(row)
    const lease: Lease = { taskId: kept.taskId, token: tokenIn(kept), forMs: step.claim?.leaseMs ?? 0 }
    // where its lane says whose it is, and the record says something else (S16), it is damaged
    if (task && (session.everyone || task.principal === step.claim?.principal)) {
      const body = bodyBeside(kept, row)
      given.push({ task, lease, dueAt: row.turnAt, ...(body && { body }) })
    } else damaged.push(new Packer(32).f64(lease.token).bytes(idBytes(kept.taskId)).done())
  }
  const trimmed = trimmedIn(letters as readonly Buffer[])
  const [unreadable, untold] = [counters(1), Math.min(UNTOLD_COUNTED, counters(10))]
  const counts: Counts = {
    pending: counters(2),
    inFlight: counters(3),
    succeeded: counters(4),
    exhausted: counters(5),
    cancelled: counters(6),
    purged: counters(7),
    bytes: counters(8),
  }
  const made: Turn = {
    now: now - offset,
    settled: [...(settled as Buffer)].map((code) => SETTLED[code] as Turn['settled'][number]),
    renewed: [...(renewed as Buffer)].map((code) => RENEWED[code] as Turn['renewed'][number]),
    claimed: given,
    ended: ended.flatMap((kept) => read(kept) ?? []),
    lanes: lanesIn(lanes as readonly Buffer[], waitsIn(tokens as readonly Buffer[]), now, step.claim, session.everyone),
    nextInMs: nextInMs < 0 ? null : nextInMs,
    blockedByLimit: state[25] === 1,
    counts,
    ...(trimmed.length > 0 && { trimmed }),
    ...(unreadable > 0 && { unreadable }),
    ...(untold > 0 && { untold }),
  }
  session.turned(counters(11), counts)
  return { made, damaged }
}

/** Dead letters that were deleted: of each its lane and its id. */
const trimmedIn = (letters: readonly Buffer[]): readonly Trimmed[] =>
  letters.flatMap((id, i) => (i % 2 ? { taskId: idText(id), principal: principalIn(String(letters[i - 1])) } : []))

/** Offsets in a lane, as lua/lanes.lua packs it. */
const LANE = {
  tag: 4,
  pending: 28,
  inFlight: 36,
  dead: 44,
  heldUntil: 52,
  moment: 92,
  at: 93,
  lines: 101,
  lists: 105,
} as const
const LINE_BYTES = 30
const STAGE = 4
const WAKES = 1

/** Origins whose lanes wait for a token, with the time until it comes. */
const waitsIn = (tokens: readonly Buffer[]): ReadonlyMap<string, number> =>
  new Map(tokens.map((bytes) => [bytes.toString('utf8', 8), bytes.readDoubleBE(0)]))

/** The lanes that a turn shows, of those that the script has found. */
function lanesIn(
  found: readonly Buffer[],
  waits: ReadonlyMap<string, number>,
  now: number,
  claim: Claim | null,
  everyone: boolean,
): LaneView[] {
  const mostOf = claim ? boundsOf(claim, { everyone }) : () => Number.POSITIVE_INFINITY
  const tag = claim && !everyone && principalTag(claim.principal)
  const views: LaneView[] = []
  for (const bytes of found) {
    if (tag && !bytes.subarray(LANE.tag, LANE.tag + tag.length).equals(tag)) continue
    const view = laneIn(bytes, waits, now)
    if (!(mostOf(view.lane) > 0) || (view.pending + view.inFlight === 0 && view.heldForMs === 0)) continue
    views.push(view)
  }
  return views.sort(soonestFirst).slice(0, LANES_SHOWN)
}

function laneIn(bytes: Buffer, tokens: ReadonlyMap<string, number>, now: number): LaneView {
  const lines = bytes.readUInt32BE(LANE.lines)
  let isReady = false
  for (let i = 0; i < lines; i++) isReady ||= bytes[LANE.lists + i * LINE_BYTES + STAGE] !== 0
  const waits = bytes[LANE.moment] === WAKES ? Math.max(0, bytes.readDoubleBE(LANE.at) - now) : null
  const nextInMs = isReady ? 0 : waits
  const lane = bytes.toString('utf8', LANE.lists + lines * LINE_BYTES)
  return {
    lane,
    pending: bytes.readDoubleBE(LANE.pending),
    inFlight: bytes.readDoubleBE(LANE.inFlight),
    nextInMs: nextInMs === null ? null : Math.max(nextInMs, tokens.get(originIn(lane)) ?? 0),
    heldForMs: Math.max(0, bytes.readDoubleBE(LANE.heldUntil) - now),
  }
}

/** Those of a principal: what waits, runs and was given up. */
export function ownCountsIn(
  bytes: Buffer,
  tag: Buffer,
): readonly [pending: number, inFlight: number, exhausted: number] {
  if (!bytes.subarray(LANE.tag, LANE.tag + tag.length).equals(tag)) return [0, 0, 0]
  return [bytes.readDoubleBE(LANE.pending), bytes.readDoubleBE(LANE.inFlight), bytes.readDoubleBE(LANE.dead)]
}

function soonestFirst(a: LaneView, b: LaneView): number {
  const [first, second] = [a.nextInMs ?? Number.MAX_VALUE, b.nextInMs ?? Number.MAX_VALUE]
  return first - second || (a.lane < b.lane ? -1 : 1)
}
