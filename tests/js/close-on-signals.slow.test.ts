// A real process with real signals: what it writes before it ends, and how it ends.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { closeOnSignals } from '../../js/node.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { listening } from '../loopback.ts'
import { ended, linesOf, start } from './processes/run.ts'
import { freshPath } from './sqlite/setup.ts'

/** Sends `signals`, one after each of its first lines, and gives what it wrote from the first on. */
async function run(words: readonly string[], signals: readonly NodeJS.Signals[]) {
  const child = start('processes/closing.ts', ...words)
  const end = ended(child)
  const lines: string[] = []
  const rest = [...signals]
  for await (const line of linesOf(child)) {
    lines.push(line)
    const signal = rest.shift()
    if (signal) child.kill(signal)
  }
  return { lines: lines.slice(1), end: await end }
}

const closed = [
  ...['one drains for 70', 'broken drains for 70', 'two drains for 70', 'one closed', 'two closed'],
  'a queue did not close: Error: stuck',
]

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s closes all queues, whatever one does, and ends with 128 and its number',
  async (signal) => {
    const { lines, end } = await run(['exit', '0'], [signal])
    expect(lines.toSorted()).toEqual(closed.toSorted())
    expect(end).toEqual([128 + constants.signals[signal], null])
  },
)

test('a second signal ends the process at once', async () => {
  const { lines, end } = await run(['exit', 'Infinity'], ['SIGTERM', 'SIGINT'])
  expect(lines).toEqual(closed.slice(0, 3))
  expect(end).toEqual([128 + constants.signals.SIGINT, null])
})

test('with exit: false the process goes on, and ends when nothing is left to do', async () => {
  const { lines, end } = await run(['stay', '0'], ['SIGTERM'])
  expect(lines.toSorted()).toEqual(closed.toSorted())
  expect(end).toEqual([0, null])
})

test('what is taken back leaves the signal to the system', async () => {
  expect(await run(['undone', '0'], ['SIGTERM'])).toEqual({ lines: [], end: [null, 'SIGTERM'] })
})

test.each([
  [[{}], {}, TypeError, 'closeOnSignals.queues[0]: expected a RetryQueue, as in closeOnSignals(queue), got'],
  [[], { signals: ['SIGNAL'] }, RangeError, 'closeOnSignals.signals[0]'],
  [[], { drainMs: -1 }, RangeError, 'closeOnSignals.drainMs'],
  [[], { exit: 1 }, TypeError, 'closeOnSignals.exit'],
] as const)('arguments are checked at once: %j %j', (queues, options, kind, words) => {
  const listeners = process.listenerCount('SIGTERM')
  expect(() => closeOnSignals(queues as never, options as never)).toThrow(kind)
  expect(() => closeOnSignals(queues as never, options as never)).toThrow(words)
  expect(process.listenerCount('SIGTERM')).toBe(listeners)
})

test('S1 an order whose first attempt runs when the signal comes, and fails, is stored before the process ends', async () => {
  const server = createServer()
  const asked = once(server, 'request')
  const path = freshPath()
  const child = start('processes/deferring.ts', path, `${await listening(server)}/`)
  const end = ended(child)
  const [, response] = await asked
  child.kill('SIGTERM')
  const told: string[] = []
  response.writeHead(503).end()
  for await (const line of linesOf(child)) told.push(line)
  expect(told).toEqual(['202'])
  expect(await end).toEqual([128 + constants.signals.SIGTERM, null])
  const queue = new RetryQueue({ store: sqliteStore({ path }), principal: null, preload: 'never' })
  queue.pause()
  const { tasks } = await queue.list()
  await queue.close()
  expect(tasks).toMatchObject([{ status: 'PENDING', attemptNumber: 1 }])
})
