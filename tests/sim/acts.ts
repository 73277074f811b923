/** What each kind of step does to a world. */

import type { Known } from './known.ts'
import type { Life, Process } from './process.ts'
import { requestOf } from './requests.ts'
import type { Act } from './scenario.ts'
import { actingOnTabs, type TabAct, thaw } from './tab-acts.ts'
import type { World } from './world.ts'

export async function acting(world: World, act: Act): Promise<void> {
  const { server } = world
  if (isOfTabs(act)) return actingOnTabs(world, act)
  if (act.do === 'storeClock') return stepClock(world, act.byMs)
  if (act.do === 'silence') {
    Object.assign(world.silence, { until: world.time.elapsed + act.forMs, hangs: act.hangs })
    return
  }
  if (act.do === 'answers') return server.script(act.origin, act.answers)
  if (act.do === 'outage') return server.outage(act.origin, act.forMs, act.answer)
  const process = world.processes[act.p]
  if (!process) return
  if (act.do === 'open') return world.open(process)
  if (act.do === 'crash') return process.crash()
  if (act.do === 'clock') {
    process.offsetMs += act.byMs
    return
  }
  if (act.do === 'loading') return process.loading.holdUp(act.part, act.forMs, act)
  const { life } = process
  if (act.do === 'freeze') return life && freeze(world, process, life, act.forMs)
  if (act.do === 'storeFault') {
    life?.way.troubles.push({ fault: act.fault, calls: act.calls, ms: act.ms })
    return
  }
  if (act.do === 'hints') {
    life?.way.hints.push({ count: act.count, ms: act.ms })
    return
  }
  const { ready } = process
  ready?.gate.run(() => order(world, process, ready, act))
}

type Order = Exclude<
  Act,
  | {
      readonly do:
        | 'storeClock'
        | 'silence'
        | 'answers'
        | 'outage'
        | 'open'
        | 'crash'
        | 'clock'
        | 'freeze'
        | 'storeFault'
        | 'hints'
        | 'loading'
    }
  | TabAct
>

function isOfTabs(act: Act): act is TabAct {
  return ['hide', 'show', 'suspend', 'cached', 'leave', 'network', 'sleep'].includes(act.do)
}

/** The store's; in a browser it is everybody's. */
function stepClock({ stores, book, handover, processes, time }: World, byMs: number): void {
  stores.offsetMs += byMs
  book.jumpedMs += Math.max(0, byMs)
  book.putBackMs += Math.max(0, -byMs)
  if (handover && byMs < 0) handover.putBackAt = time.elapsed
  for (const { life } of processes) if (life) life.health.gap = true
}

/** The caller is a tool, for the tasks of all principals. */
const ALL = { allPrincipals: true } as const

/** What somebody asks of a queue. */
function order(world: World, process: Process, life: Life, act: Order): void {
  const { callers, book, time } = world
  const { queue, sends } = life
  if (act.do === 'enqueue') {
    const { url, init, redrive, called } = requestOf(act.call, process.principal, world.scenario, true)
    callers.enqueue(life, called, queue.enqueue(url, { ...init, redrive }))
  } else if (act.do === 'fetch') {
    const { url, init, redrive, called } = requestOf(act.call, process.principal, world.scenario, act.mode === 'defer')
    const aborter = new AbortController()
    if (act.abortAfterMs !== undefined) time.after(act.abortAfterMs, () => life.gate.enter(() => aborter.abort()))
    const options = { ...redrive, mode: act.mode, waitMs: act.waitMs, ...(act.detach ? { detach: true } : {}) }
    callers.fetch(life, called, queue.fetch(url, { ...init, signal: aborter.signal, redrive: options }))
  } else if (act.do === 'cancel') {
    const known = pick([...book.tasks.values()], act.pick)
    if (known) callers.order(life, `cancel ${known.taskId}`, queue.cancel(known.taskId, ALL))
  } else if (act.do === 'redrive') {
    const dead = [...book.tasks.values()].filter(({ status }) => status === 'EXHAUSTED')
    const known = pick(dead, act.pick)
    if (known) callers.order(life, `redrive ${known.taskId}`, queue.deadLetters.redrive(known.taskId, ALL))
  } else if (act.do === 'look') look(world, life, pick([...book.tasks.values()], act.pick)?.taskId)
  else if (act.do === 'flush') callers.order(life, 'flush', queue.flush())
  else if (act.do === 'purgeDead') callers.order(life, 'purge', queue.deadLetters.purgeAll(ALL))
  else if (act.do === 'pause') {
    if (act.origin === undefined) sends.pausedAll = true
    else sends.paused.add(act.origin)
    queue.pause(scopeOf(act))
  } else if (act.do === 'resume') {
    resume(life, act.origin)
  } else if (act.do === 'principal') {
    switchTo(world, process, life, act.principal, act.purge, (what, work) => callers.order(life, what, work))
  } else if (act.do === 'login') {
    logIn(world, process, life, act, (what, work) => callers.order(life, what, work))
  } else if (act.do === 'close') close(process, life, act.drainMs, (what, work) => callers.order(life, what, work))
}

type Told = (what: string, work: Promise<unknown>) => void

export function resume(life: Life, origin?: string): void {
  if (origin === undefined) {
    life.sends.pausedAll = false
    life.sends.paused.clear()
  } else life.sends.paused.delete(origin)
  life.gate.run(() => life.queue.resume(origin === undefined ? undefined : { origin }))
}

export function switchTo(
  { book, time }: World,
  process: Process,
  life: Life,
  principal: string,
  purge: boolean,
  told: Told,
): void {
  // refused, as every queue does then
  if (life.isLoggingIn) return
  book.named.set(life.queue.name, time.elapsed)
  process.principal = principal
  // what others have said before does not count any more
  life.sends.follow(undefined)
  told(
    `switch to ${principal}`,
    life.gate.run(() => life.queue.setPrincipal(principal, { purge })),
  )
}

type Login = Extract<Act, { readonly do: 'login' }>

function logIn(
  { book, time }: World,
  process: Process,
  life: Life,
  { principal, forMs, fails }: Login,
  told: Told,
): void {
  if (life.isLoggingIn) return
  const { principal: before } = process
  process.principal = principal
  life.isLoggingIn = true
  const ended = () => {
    book.note(() => `${process.name}: the login of ${principal} ${fails ? 'fails' : 'ends'}`)
    life.isLoggingIn = false
    life.sends.follow(undefined)
    if (fails) process.principal = before
    else book.named.set(life.queue.name, time.elapsed)
  }
  const during = () =>
    new Promise<void>((resolve, reject) => {
      const end = () => {
        ended()
        if (fails) reject(new TypeError('fetch failed: wrong password'))
        else resolve()
      }
      time.after(forMs, () => life.gate.enter(end))
    })
  told(
    `log ${principal} in`,
    life.gate.run(() => life.queue.setPrincipal(principal, { during })),
  )
}

export function close(process: Process, life: Life, drainMs: number, told: Told): void {
  life.closing = true
  told(
    'close',
    life.gate.run(() => life.queue.close({ drainMs })).then(() => process.closed(life)),
  )
}

const scopeOf = ({ origin }: { readonly origin?: string }) => (origin === undefined ? undefined : { origin })

function pick(tasks: readonly Known[], at: number): Known | undefined {
  return tasks.length === 0 ? undefined : tasks[at % tasks.length]
}

function freeze(world: World, process: Process, life: Life, forMs: number): void {
  if (life.gate.frozen) return
  life.gate.freeze()
  world.book.note(`${process.name} freezes`)
  world.time.after(forMs, () => thaw(world, process, life))
}

/** A tool shows all there is of a task, and of dead letters. */
function look({ callers }: World, life: Life, taskId = 'none'): void {
  const { queue } = life
  const shown = Promise.all([
    queue.get(taskId, ALL),
    queue.attempts(taskId, ALL),
    queue.explain(taskId, ALL),
    queue.list(ALL),
    queue.deadLetters.export(ALL),
    queue.stats(ALL),
  ])
  callers.shown(life, `look at ${taskId}`, shown)
}
