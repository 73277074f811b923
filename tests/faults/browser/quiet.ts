/** A queue with nothing to do does nothing: no timer, no lock held or asked for, no transaction, in any of its tabs. */

import { type Check, none } from '../checks.ts'
import { wait, within } from '../runner.ts'
import type { Fleet } from './fleet.ts'

/** What `rest` of pages/tab.js gives. */
interface Rest {
  readonly timers: readonly string[]
  readonly locks: readonly string[]
  readonly transactions: number
}

const SETTLED_MS = 10_000
const WATCHED_MS = 3_000

export async function judgeQuiet(fleet: Fleet): Promise<readonly Check[]> {
  let rests: readonly (readonly [tab: number, rest: Rest])[] = []
  const look = async () => {
    rests = await Promise.all(
      fleet.ready.map(async ({ number, tab }) => {
        return [number, (await tab?.run<Rest>('rest()')) ?? { timers: [], locks: [], transactions: 0 }] as const
      }),
    )
  }
  await within(SETTLED_MS, async () => {
    await look()
    return rests.every(([, { timers, locks }]) => timers.length + locks.length === 0)
  })
  const before = new Map(rests.map(([tab, { transactions }]) => [tab, transactions]))
  await wait(WATCHED_MS)
  await look()
  const each = (what: (rest: Rest, tab: number) => readonly string[]) =>
    rests.flatMap(([tab, rest]) => what(rest, tab).map((words) => `tab ${tab}: ${words}`))
  return [
    none(
      'timers of an empty queue',
      each(({ timers }) => timers),
    ),
    none(
      'locks of an empty queue, held or asked for',
      each(({ locks }) => locks),
    ),
    none(
      'transactions of an empty queue in 3 s',
      each(({ transactions }, tab) => {
        const begun = transactions - (before.get(tab) ?? 0)
        return begun === 0 ? [] : [`${begun} transactions`]
      }),
    ),
  ]
}
