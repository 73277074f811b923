import { expect, test } from 'vitest'
import { REASONS as KNOWN } from '../../js/core/generated/codes.ts'
import type { ExhaustedReason, RetryTask } from '../../js/index.ts'
import { ExhaustedError } from '../../js/index.ts'
import { givenUp } from '../../js/tasks/given-up.ts'
import { always, ORDERS, setup } from './setup.ts'

test('a task that was given up says why, after how many attempts, and what to do next', async () => {
  const { queue, server, clock } = await setup({ policy: { maxAttempts: 3 } })
  always(server, 503)
  const { taskId } = await queue.enqueue(`${ORDERS}?sku=1`, { method: 'POST', body: 'tea' })
  const ended = queue.result(taskId)
  await clock.advance(60_000)
  const { error } = await ended
  expect(error).toBeInstanceOf(ExhaustedError)
  expect(error).toMatchObject({ code: 'EXHAUSTED', reason: 'max_attempts', attempts: 3, responseStatus: 503 })
  expect(error?.message).toBe(
    `POST ${ORDERS} was given up after 3 attempts, the last answered with 503 (max_attempts): its policy allows no further ` +
      `attempt. It is kept as dead letter ${taskId}; raise maxAttempts, or put it back with deadLetters.redrive(taskId) once the server is well`,
  )
})

test('one whose connections were lost has no status', async () => {
  const { queue, clock } = await setup({ policy: { maxAttempts: 1 } }, 'lost')
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(60_000)
  const { error } = await queue.result(taskId)
  expect(error).toMatchObject({ attempts: 1, responseStatus: null })
  expect(error?.message).toContain("given up after one attempt, the last ended with 'fetch failed' (max_attempts)")
})

test('one that no retry can help says what the platform has against it, and nothing of a status', async () => {
  const { queue, clock } = await setup({ fetch: globalThis.fetch })
  const { taskId } = await queue.enqueue('http://127.0.0.1:1/orders', { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  const { error } = await queue.result(taskId)
  expect(error?.message).toContain("the last ended with 'fetch failed (bad port)'")
  expect(error?.message).toMatch(/; correct the request$/)
})

test('one that a page saw redirected says so: a browser hides where to, and its server may have done the work', async () => {
  const redirect = () =>
    Object.defineProperties(new Response(), { status: { value: 0 }, type: { value: 'opaqueredirect' } })
  const { queue, clock } = await setup({ fetch: async () => redirect() })
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await clock.advance(1_000)
  const { error } = await queue.result(taskId)
  expect(error).toMatchObject({ reason: 'not_retryable', responseStatus: null })
  expect(error?.message).toContain(
    'after one attempt, the last answered with a redirect, which a page cannot follow here (not_retryable): ' +
      'its server may have done the work',
  )
  expect(error?.message).toContain('; send it to the address that answers')
  const told = await queue.explain(taskId)
  expect(told.map(({ text }) => text).slice(1)).toEqual([
    'attempt 1 was sent',
    'a redirect, which a page cannot follow here; given up: not_retryable',
  ])
})

test('one that was never sent says so', async () => {
  const { queue, server, clock } = await setup()
  const { taskId } = await queue.enqueue(ORDERS, { method: 'POST', redrive: { expiresAt: clock.now() - 1 } })
  await clock.advance(1_000)
  const { error } = await queue.result(taskId)
  expect(error?.message).toContain('was given up before it was sent (expired): ')
  expect(server.hits).toBe(0)
})

const REASONS: Readonly<Record<ExhaustedReason, RegExp>> = {
  max_attempts: /raise maxAttempts/,
  total_budget: /raise totalBudgetMs/,
  wait_exceeded: /raise waitMs, or do not wait/,
  not_retryable: /correct the request/,
  key_expired: /acceptDuplicateRisk/,
  key_conflict: /a key of its own/,
  expired: /if it is still wanted/,
  retry_after_too_long: /raise maxRetryAfterMs/,
  outcome_unknown: /ask the server/,
  vetoed: /beforeAttempt or shouldRetry said no/,
  body_missing: /make the call again/,
  target_refused: /have its operator permit it/,
  circuit_open: /make the call again later/,
  closed: /make the call again, or put it back/,
}

test('stores know each reason: a row that ended for another would count as damaged', () => {
  expect(Object.keys(REASONS).toSorted()).toEqual([...KNOWN].toSorted())
})

test.each(Object.entries(REASONS))('%s has a remedy in words', (reason, remedy) => {
  const task = { taskId: 'id', attemptNumber: 2 } as RetryTask
  const { message } = givenUp('POST https://api.test/', reason as ExhaustedReason, task, 500)
  expect(message).toMatch(remedy)
  expect(message).toContain(`(${reason}): `)
})
