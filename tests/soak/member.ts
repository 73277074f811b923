/** One process of a soak: a queue as users have it, that enqueues at a steady rate until it is told to stop. */

import { builtPackage, storeFile } from '../faults/built.ts'
import { tellParent, whenParentGoes } from '../faults/parent.ts'
import { CONCURRENCY, RETRY_MS } from './options.ts'
import type { Asked } from './server.ts'

export interface MemberOptions {
  readonly url: string
  readonly folder: string
  /** Its first task; its next one has a number higher by `step`. */
  readonly from: number
  readonly step: number
  readonly perSecond: number
}

export type Asks = 'begin' | 'tell' | 'stop'

export interface Told {
  readonly what: 'ready' | 'state' | 'stopped'
  readonly rss: number
  readonly accepted: number
  readonly failures: readonly string[]
}

const TICK_MS = 20

async function main({ url, folder, from, step, perSecond }: MemberOptions): Promise<void> {
  const { RetryQueue, sqliteStore } = await builtPackage()
  const policy = { jitterType: 'NONE', initialDelayMs: RETRY_MS, maxDelayMs: RETRY_MS, maxAttempts: 30 } as const
  const queue = new RetryQueue({
    // a server that fails at random is what they are there to spare
    breaker: false,
    retryBudget: false,
    store: sqliteStore({ path: storeFile(folder) }),
    principal: null,
    concurrency: CONCURRENCY,
    concurrencyPerOrigin: CONCURRENCY,
    policy,
  })
  let accepted = 0
  const failures: string[] = []
  queue.on('degraded', ({ code, message }) => failures.push(`${code}: ${message}`))
  const tell = (what: Told['what']) => {
    const { rss } = process.memoryUsage()
    tellParent({ what, rss, accepted, failures: failures.slice(0, 5) } satisfies Told)
  }
  const underWay = new Set<Promise<unknown>>()
  let asked = 0
  const enqueue = () => {
    const task: Asked = { n: from + step * asked++, at: Date.now() }
    const call = queue.enqueue(`${url}/tasks`, { method: 'POST', body: JSON.stringify(task) }).then(
      ({ durability }) => {
        if (durability === 'strict') accepted++
        else failures.push(`task ${task.n} is kept ${durability}`)
      },
      (error) => failures.push(String(error)),
    )
    underWay.add(call)
    void call.finally(() => underWay.delete(call))
  }
  let ticking: NodeJS.Timeout | undefined
  process.on('message', async (asks: Asks) => {
    if (asks === 'tell') return tell('state')
    if (asks === 'begin') {
      const startedAt = Date.now()
      ticking = setInterval(() => {
        while (asked < ((Date.now() - startedAt) * perSecond) / 1_000) enqueue()
      }, TICK_MS)
      return
    }
    clearInterval(ticking)
    await Promise.all(underWay)
    tell('stopped')
  })
  whenParentGoes(() => void queue.close().then(() => process.exit(0)))
  await queue.ready
  tell('ready')
}

await main(JSON.parse(process.argv[2] ?? '{}'))
