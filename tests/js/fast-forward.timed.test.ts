// Real I/O between fake timers: sockets take the time they take.
import { expect, onTestFinished, test, vi } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { fastForward } from '../../js/testing.ts'
import { onLoopback } from '../loopback.ts'
import { PLAIN_CURVE, watch } from './setup.ts'

/** Real time, whatever is faked. */
const later = setTimeout

/** The address of a server that answers by `statuses`, each 30 ms after its request; past them it never does. */
async function serve(...statuses: number[]): Promise<string> {
  const origin = await onLoopback((_, response) => {
    const status = statuses.shift()
    if (status) later(() => response.writeHead(status).end(`${status}`), 30)
  })
  onTestFinished(() => void vi.useRealTimers())
  return `${origin}/`
}

test.each([
  ['answers', [503, 503, 200], 3_000, 200],
  ['hangs, for as long as an attempt may', [503], 10_000, undefined],
])('fastForward goes on when a real server %s', async (_what, statuses, ms, status) => {
  const url = await serve(...statuses)
  const queue = new RetryQueue({ policy: { ...PLAIN_CURVE, attemptTimeoutMs: 5_000, maxAttempts: 3 } })
  vi.useFakeTimers()
  const answer = watch(queue.fetch(url, { redrive: { waitMs: 9_000 } }))
  await fastForward(ms)
  expect(answer.state).not.toBe('pending')
  expect(answer.value?.status).toBe(status)
  await queue.close({ drainMs: 0 })
})
