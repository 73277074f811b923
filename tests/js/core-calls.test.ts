/** How often the core is called: a crossing costs more than what most of them ask. */

import { expect, onTestFinished, test, vi } from 'vitest'
import { Calls } from '../../js/core/calls.ts'
import * as codes from '../../js/core/codes.ts'
import { opened } from './durable-setup.ts'
import { type Fakes, ORDERS, setup } from './setup.ts'

/** By number, the calls' names. */
const NAMES = new Map(
  Object.entries(codes).flatMap(([name, op]) => (name.startsWith('OP_') ? [[op as number, name.slice(3)]] : [])),
)

/** The names of the queue's calls from now on, in their order. */
function record(): string[] {
  const calls: string[] = []
  const note = (op: number) => void calls.push(NAMES.get(op) ?? `${op}`)
  const { call, send } = Calls.prototype
  vi.spyOn(Calls.prototype, 'call').mockImplementation(function (this: Calls, ...words) {
    note(words[0])
    return call.apply(this, words)
  })
  vi.spyOn(Calls.prototype, 'send').mockImplementation(function (this: Calls, ...words) {
    note(words[0])
    return send.apply(this, words)
  })
  const { policy } = Calls.prototype
  vi.spyOn(Calls.prototype, 'policy').mockImplementation(function (this: Calls, row) {
    calls.push('POLICY')
    return policy.call(this, row)
  })
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
  const calls = record()
  await deliver(statuses)
  expect(server.hits).toBe(1 + statuses.length)
  return calls
}

const FIRST = ['VISIT', 'ADMIT', 'POLL', 'WAKE_AT', 'SETTLE', 'POLL', 'WAKE_AT']
const LATER = ['POLL', 'WAKE_AT', 'SETTLE', 'POLL', 'WAKE_AT']

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
  const { server, clock, queue } = await opened()
  expect((await callsOf({ queue, server, clock }, statuses)).length).toBeLessThanOrEqual(most)
})
