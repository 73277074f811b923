/** An attempt by itself: it ends once, whatever its transport does. */
import { expect, test, vi } from 'vitest'
import { attempt, firstPlan } from '../../js/call/attempt.ts'
import type { Call } from '../../js/call/call.ts'
import type { RunnerPorts } from '../../js/runner/ports.ts'
import { Replay } from '../../js/runner/replay.ts'
import type { Task } from '../../js/tasks/task.ts'
import { fakeClock } from '../../js/testing.ts'
import { ORDERS, setup } from './setup.ts'

/** A replay whose transport answers nothing and heeds no signal. */
function deaf(timeoutMs: number) {
  const clock = fakeClock()
  const transport = { send: () => new Promise<never>(() => {}), isFinal: () => false }
  const call = { transport, timeoutMs, policy: { attemptTimeoutMs: timeoutMs } } as unknown as Call
  const ports = {
    host: { now: clock.now, settings: { clock } },
    maySend: () => true,
    core: { call: () => 0 },
    guard: <T>(work: () => T) => work(),
  }
  const replay = new Replay(ports as unknown as RunnerPorts, { attemptNumber: 1 } as Task, call)
  replay.timeoutMs = timeoutMs
  const done = vi.fn()
  return { clock, replay, done }
}

test('an attempt that is ended while hooks are asked ends a moment after it is sent, though its transport heeds nothing', async () => {
  const { clock, replay, done } = deaf(5_000)
  replay.abort(new Error('lost'))
  replay.begin(done)
  await clock.advance(1_000)
  expect(done).toHaveBeenCalledTimes(1)
  await clock.advance(60_000)
  expect(done).toHaveBeenCalledTimes(1)
})

test('one that its transport leaves hanging ends at its limit, or a moment after it is ended', async () => {
  for (const [abortAt, endsAt] of [
    [undefined, 5_000],
    [2_000, 3_000],
    [4_900, 5_900],
  ] as const) {
    const { clock, replay, done } = deaf(5_000)
    replay.begin(done)
    if (abortAt !== undefined) {
      await clock.advance(abortAt)
      replay.abort(new Error('lost'))
    }
    await clock.advance(endsAt - (abortAt ?? 0) - 1)
    expect(done).not.toHaveBeenCalled()
    await clock.advance(1)
    expect(done).toHaveBeenCalledTimes(1)
  }
})

test('a caller who has left before the attempt begins ends it at once', async () => {
  const { clock, replay, done } = deaf(5_000)
  replay.caller = AbortSignal.abort(new Error('left'))
  replay.begin(done)
  expect(done).not.toHaveBeenCalled()
  await clock.advance(0)
  expect(done).toHaveBeenCalledTimes(1)
})

test('a first attempt whose caller has left ends, too', async () => {
  const clock = fakeClock()
  const transport = { send: () => new Promise<never>(() => {}) }
  const call = { transport, plain: null, timeoutMs: 5_000 } as unknown as Call
  const plan = firstPlan(call, AbortSignal.abort(new Error('left')), null, 30_000)
  const { answer, error } = await attempt(call, plan, clock, clock.now)
  expect([answer, (error as Error).message]).toEqual([null, 'left'])
})

test('a server that redirects for ever keeps no connection: every answer is read or let go of', async () => {
  let requests = 0
  const open = new Set<number>()
  const fetch = async () => {
    if (requests++ === 0) return new Response(null, { status: 503 })
    const hop = requests
    open.add(hop)
    const body = new ReadableStream(
      {
        pull(controller) {
          open.delete(hop)
          controller.close()
        },
        cancel: () => void open.delete(hop),
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { status: 302, headers: { location: '/again' } })
  }
  const { queue, clock } = await setup({ fetch: fetch as typeof globalThis.fetch })
  const told = queue.fetch(ORDERS, { method: 'POST', body: 'order' }).catch((error: Error) => error)
  await clock.advance(60_000)
  expect(((await told) as Error).message).toContain('more than 20 redirects')
  expect([requests > 20, [...open]]).toEqual([true, []])
})
