/** A fixed story over one store, cut short at one of its calls, and what must be so when a second process has gone on with it. */

import type { StoredTask } from '../../js/api/store.ts'
import type { CallFault, Line } from '../redis/sync-port.ts'
import { Book } from './book.ts'
import { Callers } from './callers.ts'
import { allOf, compare } from './compare.ts'
import { Process } from './process.ts'
import { recorder, Traffic } from './recorder.ts'
import type { StoreFault, StoreKind } from './scenario.ts'
import { Server } from './server.ts'
import { Stores } from './stores.ts'
import { drain, VirtualTime } from './time.ts'
import { warm } from './warm.ts'

const HOUR_MS = 3_600_000
const LIMITS = { total: 3, perLane: 2 }
const SPEC = { persist: 'on-failure', offsetMs: 0, principal: 'ann' } as const
const [SHOP = '', BANK = '', MAIL = ''] = ['https://a.test', 'https://b.test', 'https://c.test']

/** What goes wrong, at the how-manieth call of the first process: to its store, or from its store to a server. */
export type Cut =
  | { readonly at: number; readonly of?: 'store'; readonly fault: StoreFault }
  | { readonly at: number; readonly of: 'server'; readonly fault: CallFault }

export interface Told {
  /** Store calls that the first process made. */
  readonly calls: number
  /** Calls of its store to a server. */
  readonly sent: number
  /** Of what the answers of the stores said; where one was lost, it may be wrong. */
  readonly violation: Book['violation']
  /** Callers of processes that are there, and were never answered. */
  readonly waiting: readonly string[]
  /** Tasks that have not ended. */
  readonly live: number
  /** Acknowledged, and neither delivered, given up nor cancelled. */
  readonly lost: readonly string[]
  /** Tasks whose work was done more than once. */
  readonly twice: readonly string[]
  readonly acknowledged: number
}

export async function tell(store: StoreKind, cut?: Cut): Promise<Told> {
  await warm(store)
  const time = new VirtualTime()
  const book = new Book(LIMITS, time)
  const server = new Server(book, time)
  const callers = new Callers(book, server)
  const stores = new Stores(store, time, HOUR_MS)
  const traffic = new Traffic()
  let sent = 0
  const line: Line = {
    called: () => {
      sent++
      return cut?.of === 'server' && sent === cut.at ? cut.fault : undefined
    },
    crash: () => first.crash(),
  }
  const connect = (owner: string) => {
    const opened = stores.connect(undefined, owner.startsWith('first') ? line : undefined)
    const letGo = () => {
      opened.letGo()
      if (!stores.tellsTheGone) return
      book.gone.set(owner, time.elapsed)
      book.loosen(owner)
    }
    return { store: recorder(opened.store, book, owner, traffic), letGo }
  }
  const { total: concurrency, perLane: perOrigin } = LIMITS
  const world = { seed: 7, time, book, server, hints: true, connect, concurrency, perOrigin, breaking: {} }
  const first = new Process('first', SPEC, world)
  const second = new Process('second', SPEC, world)

  const rest = () => drain(() => !stores.isAtOnce && traffic.isBusy)
  const pass = async (ms: number, over = () => false) => {
    const until = time.elapsed + ms
    await rest()
    while (time.nextAt <= until && !over()) {
      time.runNext()
      await rest()
    }
    if (!over()) time.elapsed = until
  }

  let calls = 0
  first.onCall = (way) => {
    calls++
    if (cut && cut.of !== 'server' && calls === cut.at) way.troubles.push({ fault: cut.fault, calls: 1, ms: 0 })
  }
  const open = async (process: Process) => {
    await process.open()?.started
    await rest()
  }

  const post = (intent: string, origin: string, redrive: object = {}) => {
    const { ready: life } = first
    if (!life) return
    const init = { method: 'POST', body: JSON.stringify({ intent, principal: first.principal }), redrive }
    callers.enqueue(life, { intent, method: 'POST', origin, isUnstored: false }, life.queue.enqueue(`${origin}/`, init))
  }
  const fetched = (intent: string, origin: string, redrive: object = {}) => {
    const { ready: life } = first
    if (!life) return
    const init = { method: 'POST', body: JSON.stringify({ intent, principal: first.principal }), redrive }
    callers.fetch(life, { intent, method: 'POST', origin, isUnstored: false }, life.queue.fetch(`${origin}/`, init))
  }
  /** Stays in memory, and ends with its process. */
  const read = (intent: string, origin: string) => {
    const { ready: life } = first
    if (!life) return
    const url = `${origin}/?${new URLSearchParams({ intent, principal: first.principal })}`
    callers.enqueue(
      life,
      { intent, method: 'GET', origin, isUnstored: true },
      life.queue.enqueue(url, { redrive: { sensitive: true } }),
    )
  }
  const order = (what: string, work: (queue: NonNullable<Process['ready']>['queue']) => Promise<unknown>) => {
    const { ready: life } = first
    if (life) callers.order(life, what, work(life.queue))
  }
  const idOf = (intent: string) => [...book.tasks.values()].find((known) => known.intent === intent)?.taskId ?? ''

  await open(first)
  post('enqueued', SHOP)
  await pass(1_000)
  server.script(SHOP, [
    { status: 503, latencyMs: 5 },
    { status: 200, latencyMs: 5 },
  ])
  fetched('fetched', SHOP)
  await pass(5_000)
  server.script(BANK, [{ status: 503, latencyMs: 5, retryAfterS: 2 }])
  fetched('deferred', BANK, { mode: 'defer' })
  await pass(10_000)
  server.script(MAIL, [{ status: 200, latencyMs: 40, lost: true }])
  post('ordered 1', MAIL, { orderKey: 'one by one' })
  post('ordered 2', MAIL, { orderKey: 'one by one' })
  await pass(3_000)
  server.script(MAIL, [{ status: 503, latencyMs: 5, retryAfterS: 60 }])
  post('cancelled', MAIL)
  await pass(1_000)
  order('cancel', (queue) => queue.cancel(idOf('cancelled')))
  await pass(60_000)
  server.script(BANK, [{ status: 429, latencyMs: 5, retryAfterS: 5 }])
  read('in memory', BANK)
  await pass(100)
  post('waits for what was told in memory', BANK)
  await pass(10_000)
  server.script(SHOP, [{ status: 400, latencyMs: 5 }])
  post('dead', SHOP)
  await pass(2_000)
  order('redrive', (queue) => queue.deadLetters.redrive(idOf('dead')))
  await pass(2_000)
  first.principal = 'ben'
  order('switch', (queue) => queue.setPrincipal('ben'))
  post('of another', BANK)
  await pass(1_000)
  first.principal = 'ann'
  order('switch back', (queue) => queue.setPrincipal('ann'))
  await pass(1_000)
  order('close', async (queue) => {
    const { life } = first
    if (life) life.closing = true
    await queue.close()
    if (life) first.closed(life)
  })
  await pass(20_000)
  const told = { calls, sent }

  for (const principal of ['ann', 'ben'] as const) {
    second.principal = principal
    if (second.life) callers.order(second.life, 'switch', second.life.queue.setPrincipal(principal))
    else await open(second)
    await pass(HOUR_MS, () => book.live(principal).length === 0 && callers.waiting.length === 0)
  }
  await compare(book, stores.observer)
  const rows = await allOf(stores.observer)
  const effects = ({ principal, idempotencyKey: key }: StoredTask) => server.effects(principal, key)
  const lost = [...book.acknowledged].filter((taskId) => {
    const row = rows.get(taskId)
    if (row?.status === 'SUCCEEDED') return effects(row) !== 1
    return row?.status !== 'EXHAUSTED' && row?.status !== 'CANCELLED'
  })
  const stored = [...rows.values()]
  const twice = stored.filter((row) => effects(row) > 1).map(({ taskId }) => taskId)
  const live = stored.filter(({ status }) => status === 'PENDING' || status === 'IN_FLIGHT').length
  const { violation } = book
  const { waiting } = callers
  for (const process of [first, second]) process.crash()
  await rest()
  await stores.close()
  return {
    ...told,
    violation,
    waiting,
    live,
    lost,
    twice,
    acknowledged: book.acknowledged.size,
  }
}
