/** The gates as Prometheus is shown them: a breaker that opens and closes, a budget that is spent. */

import { expect, test } from 'vitest'
import { metricsOf } from '../../js/adapters/prometheus.ts'
import { ORDERS, setup } from './setup.ts'

const numberIn = (text: string, name: string): number =>
  Number(text.split(`${name}{origin="https://api.test"} `)[1]?.split('\n', 1)[0])

test('a breaker is 2 while it is open, 1 while one goes to see, 0 when that went well', async () => {
  const policy = { strategy: 'table', delaysMs: [0], maxAttempts: 100, attemptTimeoutMs: 0 } as const
  const { queue, server, clock, events } = await setup({ policy, breaker: { afterMs: 0, whenOpen: 'hold' } })
  const { text } = metricsOf(queue)
  const states: number[] = []
  queue.on('circuit', () => states.push(numberIn(text(), 'retry_circuit_state')))
  for (let i = 0; i < 5; i++) server.reply(503)
  for (const path of ['a', 'b', 'c']) await queue.enqueue(`${ORDERS}/${path}`)
  await clock.advance(0)
  expect(numberIn(text(), 'retry_circuit_state')).toBe(2)
  await clock.advance(60_000)
  expect(numberIn(text(), 'retry_circuit_state')).toBe(0)
  expect(events.of('circuit').map(({ to }) => to)).toEqual(['OPEN', 'HALF_OPEN', 'CLOSED'])
  expect(states).toEqual([2, 1, 0])
})

test('a retry that is paid shows as a token less', async () => {
  const retryBudget = { capacity: 4, perSuccess: 0, perSecond: 0 }
  const { queue, server, clock } = await setup({ retryBudget })
  const { text } = metricsOf(queue)
  server.reply(503)
  const call = queue.fetch(ORDERS)
  await clock.advance(0)
  expect(numberIn(text(), 'retry_budget_tokens')).toBe(4)
  await clock.advance(1_000)
  await call
  expect(numberIn(text(), 'retry_budget_tokens')).toBe(3)
})

test('a queue without a budget has no series of it', async () => {
  const { queue, server, clock } = await setup({ retryBudget: false, breaker: false })
  const { text } = metricsOf(queue)
  server.reply(503)
  const call = queue.fetch(ORDERS)
  await clock.advance(1_000)
  await call
  expect(text()).toContain('retry_circuit_state{origin="https://api.test"} 0\n')
  expect(text()).not.toContain('retry_budget_tokens{')
})
