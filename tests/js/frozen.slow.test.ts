// Real processes that stand still while they wait for an answer, which lies in their socket when they go on.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { onLoopback } from '../loopback.ts'
import { linesOf, start } from './processes/run.ts'
import { freshPath } from './sqlite/setup.ts'

type How = 'stopped' | 'blocked'

/** What such a process says of its call, and how often its server was asked. */
async function frozen(
  call: string,
  how: How,
  ms: number,
  path: string,
): Promise<readonly [said: string, asked: number]> {
  let asked = 0
  const origin = await onLoopback((_, response) => {
    // an answer to a second request says nothing of the first
    if (++asked > 1) response.writeHead(409).end()
    else if (how === 'blocked') void delay(1_000).then(() => response.end())
    else {
      child.kill('SIGSTOP')
      response.end()
      void delay(ms).then(() => child.kill('SIGCONT'))
    }
  })
  const child = start('processes/frozen.ts', `${origin}/`, call, how === 'blocked' ? `${ms}` : '0', path)
  for await (const line of linesOf(child)) return [line, asked]
  return ['nothing', asked]
}

test('a process that stood still takes the answer that came meanwhile, whichever limit is over', {
  timeout: 120_000,
}, async () => {
  const cases: readonly [call: string, how: How, ms: number, path: string, said: string][] = [
    ['awaited', 'stopped', 14_000, '', '200'],
    ['awaited', 'stopped', 36_000, '', '200'],
    ['awaited', 'blocked', 14_000, '', '200'],
    ['once', 'stopped', 36_000, '', '200'],
    ['deferred', 'stopped', 14_000, '', '200'],
    ['enqueued', 'stopped', 36_000, '', 'SUCCEEDED'],
    ['awaited', 'stopped', 36_000, freshPath(), '200'],
    // longer than its lease
    ['enqueued', 'stopped', 36_000, freshPath(), 'SUCCEEDED'],
    ['enqueued', 'blocked', 36_000, freshPath(), 'SUCCEEDED'],
  ]
  const answers = await Promise.all(cases.map(([call, how, ms, path]) => frozen(call, how, ms, path)))
  expect(answers).toEqual(cases.map(([, , , , said]) => [said, 1]))
})
