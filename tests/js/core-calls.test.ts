/** How often the core is called: a crossing costs more than what most of them ask. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { world } from './durable-setup.ts'
import { type Fakes, ORDERS, setup } from './setup.ts'

/** The names of the queue's calls from now on, in their order. */
async function record(): Promise<string[]> {
  const { glue } = await instantiate()
  const queue = glue.CoreQueue.prototype as unknown as Record<string, (...numbers: number[]) => unknown>
  const calls: string[] = []
  for (const name of Object.getOwnPropertyNames(queue)) {
    const call = queue[name]
    if (name === 'constructor' || name === '__destroy_into_raw' || typeof call !== 'function') continue
    vi.spyOn(queue, name).mockImplementation(function (this: unknown, ...numbers) {
      calls.push(name)
      return call.apply(this, numbers)
    })
  }
  onTestFinished(() => void vi.restoreAllMocks())
  return calls
}

/** The calls of one task in a lane that is known, whose attempts are answered with `statuses`. */
async function callsOf(
  { queue, server, clock }: Pick<Fakes, 'queue' | 'server' | 'clock'>,
  statuses: readonly number[],
) {
  const deliver = async (answers: readonly number[]) => {
    for (const status of answers) server.reply(status)
    await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
    await clock.advance(1_100)
  }
  await deliver([200])
  const calls = await record()
  await deliver(statuses)
  expect(server.hits).toBe(1 + statuses.length)
  return calls
}

const FIRST = ['visit', 'admit', 'poll', 'wakeAt', 'settle', 'poll', 'wakeAt']
const LATER = ['poll', 'wakeAt', 'settle', 'poll', 'wakeAt']

test.each([
  ['delivered at once', [200], FIRST],
  ['delivered after a failure', [503, 200], [...FIRST, ...LATER]],
] as const)(
  'a task in memory, %s, asks no number of the core that an answer has brought',
  async (_, statuses, expected) => {
    expect(await callsOf(await setup(), statuses)).toEqual(expected)
  },
)

test.each([
  ['delivered at once', [200], 27],
  ['delivered after a failure', [503, 200], 50],
] as const)('a task in a store, %s, takes so many calls of the core', async (_, statuses, most) => {
  const { open, server, clock } = world()
  const { queue } = await open()
  expect((await callsOf({ queue, server, clock }, statuses)).length).toBeLessThanOrEqual(most)
})
