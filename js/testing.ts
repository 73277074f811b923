/**
 * redrive/testing: time and a server that a test controls, for tests of code that uses a queue, and for ours.
 *
 * ```ts
 * const clock = fakeClock()
 * const server = scriptedServer({ clock })
 * const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n })
 * server.reply(503).reply(200, {}, 'done')
 * const answer = queue.fetch('https://api.test/orders')
 * await clock.advance(1_000)
 * ```
 */

export { type FakeClock, fakeClock } from './testing/clock.ts'
export { fastForward } from './testing/fast-forward.ts'
export { reset } from './testing/reset.ts'
export { toHaveBeenRetried } from './testing/retried.ts'
export {
  type FakeServer,
  type ScriptedServer,
  type SeenRequest,
  scriptedServer,
  withFakeServer,
} from './testing/server.ts'
