/** What may be wrong with limits and with what callers and servers say, on purpose, each in one way: what the checks are there to notice. */

import { OUTCOME_RESPONSE, SAID_END, SAID_NOTHING, SAID_RETRY } from '../../js/core/codes.ts'
import { CoreQueue } from '../../js/core/generated/queue/glue.js'
import type { Breaking } from './world.ts'
import type { Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

const { settle } = CoreQueue.prototype

/** The arguments of `settle`, by name. */
interface Ended {
  outcome: number
  status: number
  serverDelayMs: number
  rateLimitMs: number
  partitioned: boolean
  said: number
  delayMs: number
}

/** The core is told something else about an attempt that has ended. */
const told = (change: (ended: Ended) => Partial<Ended>): Breaking =>
  does(CoreQueue.prototype, 'settle', function (this: CoreQueue, ...given: Parameters<typeof settle>) {
    const [now, slot, outcome, status, serverDelayMs, durationMs, rateLimitMs, unusable, ...more] = given
    const [partitioned, said, delayMs, ...rest] = more
    const ended = { outcome, status, serverDelayMs, rateLimitMs, partitioned, said, delayMs }
    const but = { ...ended, ...change(ended) }
    // biome-ignore format: in the order in which they cross
    return settle.call(
      this, now, slot, but.outcome, but.status, but.serverDelayMs, durationMs, but.rateLimitMs, unusable, but.partitioned, but.said, but.delayMs,
      ...rest,
    )
  })

export const WRONG_WISHES: readonly Wrong[] = [
  {
    what: 'shouldRetry may say no, and it goes on',
    breaks: 'S8',
    breaking: told(({ said }) => ({ said: said === SAID_END ? SAID_NOTHING : said })),
  },
  {
    what: 'shouldRetry may say yes, and it ends',
    breaks: 'S1',
    breaking: told(({ said }) => ({ said: said === SAID_RETRY ? SAID_NOTHING : said })),
  },
  {
    what: 'a delay of its user’s undercuts the server',
    breaks: 'S9',
    breaking: told(({ delayMs }) => (delayMs >= 0 ? { serverDelayMs: Number.NaN, rateLimitMs: Number.NaN } : {})),
  },
  {
    what: 'a delay of its user’s is not heard',
    breaks: 'S9',
    breaking: told(() => ({ delayMs: Number.NaN })),
  },
  {
    what: 'the limit of a partition holds all others',
    breaks: 'S9',
    breaking: told(() => ({ partitioned: false })),
  },
  {
    what: 'a 401 is tried again like an outage',
    breaks: 'S8',
    breaking: told(({ outcome, status }) => (outcome === OUTCOME_RESPONSE && status === 401 ? { status: 503 } : {})),
  },
  { what: 'there is no rate', breaks: 'S7', breaking: does(CoreQueue.prototype, 'rate', () => {}) },
  {
    what: 'callers’ own first attempts find room whatever runs',
    breaks: 'S7',
    breaking: does(CoreQueue.prototype, 'enterOwn', () => true),
  },
]
