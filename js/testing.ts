/**
 * redrive/testing: time and a server that do as they are told, for tests of code that uses a queue, and for ours.
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
export { type ScriptedServer, type SeenRequest, scriptedServer } from './testing/server.ts'
