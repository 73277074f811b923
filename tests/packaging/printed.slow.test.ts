// The examples that the documentation prints, and that `npm run trace` runs, as they stand.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './pack.ts'

async function printed(...path: readonly string[]): Promise<string> {
  const script = join(root, 'examples', ...path)
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
  return stdout
}

test('a task is explained by the process that took it over, from its first attempt on', async () => {
  const stdout = await printed('explain.mjs')
  const kinds = [...stdout.matchAll(/^\d\d:\d\d:\d\d (\w+):/gm)].map(([, kind]) => kind)
  const tries = ['lost', 'attempt', 'retry', 'attempt', 'retry']
  expect(kinds).toEqual(['queued', 'attempt', 'retry', ...tries, 'waits'])
  expect(stdout).toContain('serverDelayMs: 20000')
})

test('one task is one trace over three attempts and a restart', async () => {
  expect(await printed('trace', 'run.mjs')).toContain('1 trace, 1 root, 3 attempts; 3 of 3 requests')
})
