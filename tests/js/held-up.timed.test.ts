// Real processes that are held up for longer than calls wait for the core: real time, which their timers find passed at once.
import { expect, test } from 'vitest'
import { RetryQueue } from '../../js/index.ts'
import { sqliteStore } from '../../js/stores/sqlite.ts'
import { linesOf, start } from './processes/run.ts'
import { ORDERS } from './setup.ts'
import { freshPath } from './sqlite/setup.ts'

/** The lines of such a process until it has sent three tasks that an earlier one has left. */
async function takeUp(how: 'stopped' | 'blocked'): Promise<readonly string[]> {
  const path = freshPath()
  const before = new RetryQueue({ store: sqliteStore({ path }), principal: null })
  before.pause()
  for (let i = 0; i < 3; i++) await before.enqueue(ORDERS, { method: 'POST', body: 'tea' })
  await before.close()
  const child = start('processes/held-up.ts', how, path)
  const lines: string[] = []
  for await (const line of linesOf(child)) {
    lines.push(line)
    if (line === 'held up' && how === 'stopped') setTimeout(() => child.kill('SIGCONT'), 11_000)
    if (lines.filter((each) => each === 'sent').length === 3) break
  }
  return lines
}

test('L1 a process that is stopped or blocked while it loads takes up what waits all the same', {
  timeout: 60_000,
}, async () => {
  const lines = ['held up', 'core_unreachable', 'sent', 'sent', 'sent']
  expect(await Promise.all([takeUp('stopped'), takeUp('blocked')])).toEqual([lines, lines])
})
