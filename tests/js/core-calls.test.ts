/** How often the core is called: a crossing costs more than what most of them ask. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { ORDERS, setup } from './setup.ts'

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

test('from the end of an attempt to the armed timer there are four calls', async () => {
  const { queue, server, clock, events } = await setup()
  const answer = server.hang()
  await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.settle()
  const calls = await record()
  answer(503)
  await clock.settle()
  expect(events.names()).toContain('retry')
  expect(calls).toEqual(['settle', 'decisionPtr', 'poll', 'wakeAt'])
})
