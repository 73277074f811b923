/** What the tests of explain() share: a task, and its decisions as lines, as data, or the last alone. */

import type { Decision, RetryQueueOptions } from '../../js/index.ts'
import { opened } from './durable-setup.ts'
import { type Fakes, ORDERS, setup, stub } from './setup.ts'

/** A queue in memory, or a process on a store. */
export type Stage = Fakes

export const KINDS: Readonly<Record<'memory' | 'a store', (options?: RetryQueueOptions) => Promise<Stage>>> = {
  memory: setup,
  'a store': opened,
}

export const POST = { method: 'POST', body: 'tea' } as const

export async function enqueued(
  { queue, clock }: Pick<Stage, 'queue' | 'clock'>,
  init: object = POST,
  url: string = ORDERS,
): Promise<string> {
  const { taskId } = await queue.enqueue(url, init)
  await clock.settle()
  return taskId
}

export const lines = (decisions: readonly Decision[]): string[] => decisions.map(({ kind, text }) => `${kind}: ${text}`)
export const dataOf = (decisions: readonly Decision[]): object[] =>
  decisions.map(({ kind, data }) => ({ kind, ...data }))
export const lastOf = (decisions: readonly Decision[]): Decision | undefined => decisions.at(-1)

/** Until the test is over. */
export function goOffline(): void {
  stub({ navigator: { onLine: false } })
}
