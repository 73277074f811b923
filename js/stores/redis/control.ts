/** Commands of users: each a command of `control.lua`, in parts where there may be many tasks. */

import type { Buffer } from 'node:buffer'
import type { RetryPolicy } from '../../api/policy.ts'
import type { TaskStore } from '../../api/store.ts'
import type { ExhaustedReason } from '../../api/task.ts'
import { DEFAULT_ATTEMPTS } from '../../core/generated/codes.ts'
import { DAY_MS } from '../../platform/clock.ts'
import { recordOf } from '../engine/parts.ts'
import { storedTask } from '../engine/shown.ts'
import { idBytes, principalTag } from './names.ts'
import { Packer } from './packed.ts'
import type { Arg, Reply } from './port.ts'
import type { Session } from './session.ts'
import { type Kept, keptIn, rowIn, type Shared, STATUSES, sharedOf, withPolicy } from './task.ts'

type Whole = Required<TaskStore>
type Answer<Name extends 'cancel' | 'redrive'> = Awaited<ReturnType<Whole[Name]>>

const wordOf = (reply: Reply): string => String(reply)

export async function cancel(
  session: Session,
  taskId: string,
  as?: ExhaustedReason,
  isCallers = false,
): Promise<Answer<'cancel'>> {
  return wordOf(await session.command('cancel', idBytes(taskId), as ?? '', isCallers ? '1' : '')) as Answer<'cancel'>
}

/** Says how many tasks a command has changed that walks along a set: part by part, until there is none left. */
async function walk(session: Session, name: string, ...args: readonly Arg[]): Promise<number> {
  let changed = 0
  for (let cursor: Arg = ''; ; ) {
    const [count, rest] = (await session.command(name, cursor, ...args)) as readonly [number, Buffer]
    changed += count
    if (rest.length === 0) return changed
    cursor = rest
  }
}

/** '' stands for any principal. */
const tagFor = (principal: string | null | undefined): Arg => (principal === undefined ? '' : principalTag(principal))

export const flush = (session: Session, lane = ''): Promise<number> => walk(session, 'flush', lane)

export const unpark = (session: Session, { principal, lane = '' }: Parameters<Whole['unpark']>[0]): Promise<number> =>
  walk(session, 'unpark', lane, tagFor(principal))

export async function due(session: Session, taskIds: readonly string[], inMs: number): ReturnType<Whole['due']> {
  const said = await session.command('due', String(inMs), String(taskIds.length), ...taskIds.map(idBytes))
  return (said as readonly number[]).map((isDue) => (isDue === 1 ? 'due' : 'gone'))
}

export async function purge(
  session: Session,
  { taskId, principal, status }: Parameters<TaskStore['purge']>[0],
): Promise<number> {
  if (taskId === undefined) {
    return walk(session, 'purge', tagFor(principal), status === undefined ? '' : String(STATUSES.indexOf(status)))
  }
  const wanted = status === undefined ? '' : String(STATUSES.indexOf(status))
  return (await session.command('erase', idBytes(taskId), tagFor(principal), wanted)) as number
}

/** Tasks of one script. */
const MOST = 256

export async function told(session: Session, ends: Parameters<Whole['told']>[0]): Promise<void> {
  for (let from = 0; from < ends.length; from += MOST) {
    const part = ends.slice(from, from + MOST)
    const packed = part.map(({ taskId, endedAt }) => new Packer(32).f64(endedAt).bytes(idBytes(taskId)).done())
    await session.command('told', String(part.length), ...packed)
  }
}

export async function redrive(
  session: Session,
  taskIds: readonly string[],
  options: Parameters<TaskStore['redrive']>[1],
): Promise<Answer<'redrive'>> {
  const answers: string[] = []
  let back = 0
  for (let from = 0; from < taskIds.length; from += MOST) {
    const part = taskIds.slice(from, from + MOST)
    let wanted = part.map((_, i) => i)
    const said: string[] = []
    // 'again': another process has changed the record of a dead letter since it was read
    while (wanted.length > 0) {
      const ids = wanted.map((i) => part[i] as string)
      const outcomes = await redriveOnce(session, ids, options, back)
      back += outcomes.filter((outcome) => outcome === 'redriven').length
      for (const [n, i] of wanted.entries()) said[i] = outcomes[n] as string
      wanted = wanted.filter((i) => said[i] === 'again')
    }
    answers.push(...said)
  }
  return answers as unknown as Answer<'redrive'>
}

async function redriveOnce(
  session: Session,
  taskIds: readonly string[],
  { spacingMs, acceptDuplicateRisk, policies = [] }: Parameters<TaskStore['redrive']>[1],
  back: number,
): Promise<readonly string[]> {
  const tasks = await read(session, taskIds)
  const change = (task: Kept | undefined) => task && changeOf(session, task, policies, acceptDuplicateRisk)
  await session.share(tasks.flatMap((task) => change(task)?.unshared ?? []))
  const changes = tasks.map(change)
  const args = changes.flatMap((wanted): Arg[] => (wanted ? [wanted.packed, wanted.record] : []))
  const head = new Packer(16)
    .f64(spacingMs)
    .u32(args.length / 2, back)
    .done()
  const said = (await session.command('redrive', head, ...args)) as readonly Reply[]
  let next = 0
  // one that is not here, or cannot be read, is not asked for
  return changes.map((wanted) => (wanted ? wordOf(said[next++] as Reply) : 'gone'))
}

interface Change {
  readonly packed: Buffer
  readonly record: Buffer
  readonly unshared?: Shared
}

function changeOf(
  session: Session,
  kept: Kept,
  policies: readonly RetryPolicy[],
  acceptDuplicateRisk: boolean,
): Change | undefined {
  const row = rowIn(kept, session.records, 0)
  const task = row && storedTask(row)
  if (!row || !task) return undefined
  const policy = policies.find(({ policyId }) => policyId === task.policy.policyId) ?? task.policy
  const { keyTtlMs = DAY_MS, totalBudgetMs = keyTtlMs, maxAttempts = DEFAULT_ATTEMPTS } = policy
  const shared = sharedOf(task, recordOf({ ...task, policy }))
  const has = (record: Shared): boolean => session.has(record)
  const isKeyed = task.idempotencyKey !== null && !acceptDuplicateRisk
  const packed = new Packer(128)
    .f64(totalBudgetMs, keyTtlMs, maxAttempts, task.expiresAfterMs ?? Number.POSITIVE_INFINITY)
    .u8(isKeyed ? 1 : 0)
    .u32(kept.record.length)
    .bytes(kept.record, idBytes(kept.taskId))
    .done()
  const record = withPolicy(kept, task, row, policy, has)
  return { packed, record, ...(shared && !has(shared) && { unshared: shared }) }
}

/** The tasks by their ids, in that order. */
async function read(session: Session, taskIds: readonly string[]): Promise<readonly (Kept | undefined)[]> {
  const { said } = await session.ask('tasks', String(taskIds.length), ...taskIds.map(idBytes))
  const tasks = keptIn(said)
  await session.learn(tasks)
  return tasks.map((task) => (task.row.length > 0 ? task : undefined))
}
