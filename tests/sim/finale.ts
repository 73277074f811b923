/** The end of a world is a good one: faults are over, processes run, the server answers, everybody is visited. What holds then is liveness. */

import { RENEWED_LEASE_MS } from '../../js/durable/lease-terms.ts'
import { close, resume, switchTo } from './acts.ts'
import { compare } from './compare.ts'
import type { Life, Process } from './process.ts'
import { PRINCIPALS, SERVED } from './scenario.ts'
import { back, setNetwork } from './tab-acts.ts'
import type { World } from './world.ts'

const MINUTE_MS = 60_000
/** Longest that one principal's tasks may take: lanes held for two minutes, a clock that stands still for one, waits of one. */
const VISIT_MS = 20 * MINUTE_MS
/** Beyond two leases: a turn to come, and its answer. */
const SLACK_MS = 1_000
/** One after another: an attempt that was under way, one of each of the others, and its own, each as slow as credentials can be; and credentials fail twice. */
const SERVED_MS = 25_000
const CLOSE_MS = 10_000
/** Longest that anything stays frozen. */
const FROZEN_MS = 61 * MINUTE_MS
/** Longest wait between two tries to load a chunk, and more. */
const LOADED_MS = 20 * MINUTE_MS
const HUNG = { fault: 'delay-before', calls: 1_000, ms: 86_400_000 } as const

export async function finale(world: World): Promise<void> {
  const { book, server, time, callers } = world
  // who is frozen stays so as long as it was to
  await world.until(time.elapsed + FROZEN_MS, () => world.processes.every(({ life }) => !life?.gate.frozen))
  if (book.violation) return
  book.note('-- finale')
  server.heal()
  for (const process of world.processes) {
    process.loading.heal()
    if (process.life) {
      process.life.way.troubles.length = 0
      process.life.way.hints.length = 0
    }
    await world.thaw(process)
    if (process.life) revive(world, process, process.life)
  }
  if (world.handover) setNetwork(world, true, true)
  await world.rest()
  // what is on its way arrives, and one that was closing is given its time
  await world.until(time.elapsed + MINUTE_MS)
  await world.until(time.elapsed + MINUTE_MS, () => world.processes.every(({ life }) => !life?.closing))
  for (const process of world.processes) await world.open(process)
  await loaded(world)
  await world.until(time.elapsed + MINUTE_MS, () => world.processes.every(({ life }) => !life?.isLoggingIn))
  await world.until(time.elapsed + SLACK_MS)
  const lapsedAt = time.elapsed + 2 * RENEWED_LEASE_MS + SLACK_MS + behind(world)
  for (const principal of [...PRINCIPALS, ...PRINCIPALS]) {
    if (book.violation) return
    await visit(world, principal, lapsedAt)
  }
  for (const { taskId, status, intent } of book.live()) book.fail('L1', `${taskId} ${intent} is still ${status}`)
  if (!book.violation) await compare(book, world.stores.observer)
  if (!book.violation) await apart(world)
  if (!book.violation) await shut(world)
  for (const what of callers.waiting) book.fail('S22', `${what}: its caller was never answered`)
  for (const { status, principal, key, intent } of book.tasks.values()) {
    if (status !== 'SUCCEEDED') continue
    const effects = server.effects(principal, key)
    book.expect(effects === 1, 'S1', () => `${intent} has succeeded, and was done ${effects} times`)
  }
}

/** L1: what was held up while it loaded is loaded by the queue itself, which is asked for nothing meanwhile. */
async function loaded(world: World): Promise<void> {
  const { processes, book } = world
  const late = () => processes.filter(({ life }) => life?.health.isLoading)
  await world.until(world.time.elapsed + LOADED_MS, () => late().length === 0)
  for (const { name } of late()) book.fail('L1', `${name} has not loaded its chunks in ${LOADED_MS} ms`)
}

/** A tab is there, and looked at. */
function revive(world: World, process: Process, life: Life): void {
  back(world, process, life, 'cached')
  life.page?.turn(false)
}

/** How long the store's clock stands still. */
function behind({ stores }: World): number {
  return Math.min(MINUTE_MS, Math.max(0, -stores.offsetMs))
}

/** A machine sleeps, its clock is put back meanwhile, and so nobody has seen a step: all that waits does so for longer. */
function unseen({ book, handover }: World): number {
  return handover ? Math.min(FROZEN_MS, book.putBackMs) : 0
}

/** All processes are this principal's until its tasks have ended. */
async function visit(world: World, principal: (typeof PRINCIPALS)[number], lapsedAt: number): Promise<void> {
  const { book, time, processes, callers } = world
  for (const process of processes) {
    const { life } = process
    if (!life) continue
    switchTo(world, process, life, principal, false, (what, work) => callers.order(life, what, work))
    resume(life)
  }
  await world.rest()
  const until = time.elapsed + VISIT_MS + unseen(world)
  await world.until(Math.min(until, lapsedAt), () => book.live(principal).length === 0)
  if (!book.violation && time.elapsed >= lapsedAt) await lapsed(world)
  await world.until(until, () => book.live(principal).length === 0)
  const [late] = book.live(principal)
  if (late) book.fail('L1', `${late.taskId} ${late.intent} of ${principal} is ${late.status} after ${VISIT_MS} ms`)
}

/** L2: no lease that ran out long ago still holds its task. */
async function lapsed(world: World): Promise<void> {
  const { book, time, stores } = world
  const { observer } = stores
  for (const { taskId, leasedAt, leaseMs } of book.live()) {
    if (time.elapsed - leasedAt < leaseMs + 2 * RENEWED_LEASE_MS + MINUTE_MS + unseen(world)) continue
    const row = await observer.get(taskId)
    const sinceMs = time.elapsed - leasedAt
    book.expect(
      row?.status !== 'IN_FLIGHT',
      'L2',
      () => `${taskId} is in flight ${sinceMs} ms after its lease was given`,
    )
  }
}

/** L4: an origin that refuses, and one that asks to wait, do not keep a third from being served. */
async function apart(world: World): Promise<void> {
  const { book, server, time, processes, callers } = world
  const process = processes.find(({ ready }) => ready && !ready.inMemory)
  const life = process?.ready
  if (!process || !life) return
  server.outage('https://a.test', VISIT_MS, { status: 502, latencyMs: 5 })
  server.outage('https://b.test', VISIT_MS, { status: 503, latencyMs: 5, retryAfterS: 600 })
  const enqueue = (intent: string, origin: string) => {
    const body = JSON.stringify({ intent, principal: process.principal })
    const work = life.gate.run(() => life.queue.enqueue(`${origin}/orders`, { method: 'POST', body }))
    callers.enqueue(life, { intent, method: 'POST', origin, isUnstored: false }, work)
  }
  // what was given up takes room until it has been looked at
  const purged = life.gate.run(() => life.queue.deadLetters.purgeAll({ allPrincipals: true }))
  callers.order(life, 'purge', purged)
  await world.rest()
  for (const n of [1, 2, 3]) enqueue(`refused ${n}`, 'https://a.test')
  for (const n of [1, 2, 3]) enqueue(`held ${n}`, 'https://b.test')
  await world.until(time.elapsed + SLACK_MS)
  // one that nobody has asked to wait
  enqueue('served', SERVED)
  await world.rest()
  const served = () =>
    [...book.tasks.values()].some(({ intent, status }) => intent === 'served' && status === 'SUCCEEDED')
  const done = await world.until(time.elapsed + SERVED_MS + behind(world), served)
  if (!done) book.fail('L4', 'an origin was not served while others failed')
}

/** L5. */
async function shut(world: World): Promise<void> {
  const { book, time, processes, callers } = world
  // the store of one of them does not answer any more
  processes[0]?.life?.way.troubles.push({ ...HUNG })
  for (const process of processes) {
    const { life } = process
    if (life) close(process, life, SLACK_MS, (what, work) => callers.order(life, what, work))
  }
  await world.rest()
  await world.until(time.elapsed + CLOSE_MS, () => processes.every(({ life }) => !life))
  for (const { name, life } of processes) book.expect(!life, 'L5', () => `${name} does not close`)
}
