/** What may be wrong with limits and with what callers and servers say, on purpose, each in one way: what the checks are there to notice. */

import { Calls } from '../../js/core/calls.ts'
import {
  OP_ENTER_OWN,
  OP_RATE,
  OP_SETTLE,
  OUTCOME_RESPONSE,
  SAID_END,
  SAID_NOTHING,
  SAID_RETRY,
} from '../../js/core/codes.ts'
import type { Breaking } from './world.ts'
import type { Wrong } from './wrong.ts'
import { does } from './wrong-code.ts'

const { send } = Calls.prototype

/** Those words of a settle that may be wrong, each at its place. */
const PLACES = {
  outcome: 2,
  status: 3,
  serverDelayMs: 4,
  rateLimitMs: 6,
  partitioned: 8,
  said: 9,
  delayMs: 10,
} as const

type Ended = { -readonly [name in keyof typeof PLACES]: number }

/** The core is told something else about an attempt that has ended. */
const told = (change: (ended: Ended) => Partial<Ended>): Breaking =>
  does(
    Calls.prototype,
    'send',
    function (this: Calls, op: number, ...words: Parameters<typeof send> extends [number, ...infer W] ? W : never) {
      if (op !== OP_SETTLE) return send.call(this, op, ...words)
      const places = Object.entries(PLACES)
      const but = change(Object.fromEntries(places.map(([name, place]) => [name, Number(words[place])])) as Ended)
      for (const [name, place] of places) words[place] = but[name as keyof Ended] ?? (words[place] as number)
      return send.call(this, op, ...words)
    },
  )

const { call } = Calls.prototype

/** A call of the core that is not made. `answer`: what it seems to have said. */
const skips = (skipped: number, answer: number): Breaking =>
  does(Calls.prototype, 'call', function (this: Calls, ...words: Parameters<typeof call>) {
    return words[0] === skipped ? answer : call.apply(this, words)
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
    breaking: told(() => ({ partitioned: 0 })),
  },
  {
    what: 'a 401 is tried again like an outage',
    breaks: 'S8',
    breaking: told(({ outcome, status }) => (outcome === OUTCOME_RESPONSE && status === 401 ? { status: 503 } : {})),
  },
  { what: 'there is no rate', breaks: 'S7', breaking: skips(OP_RATE, Number.NaN) },
  {
    what: 'callers’ own first attempts find room whatever runs',
    breaks: 'S7',
    breaking: skips(OP_ENTER_OWN, 1),
  },
]
