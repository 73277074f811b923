// The example that the documentation prints, run as it stands.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './pack.ts'

test('a task is explained by the process that took it over, from its first attempt on', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples', 'explain.mjs')])
  const kinds = [...stdout.matchAll(/^\d\d:\d\d:\d\d (\w+):/gm)].map(([, kind]) => kind)
  const tries = ['lost', 'attempt', 'retry', 'attempt', 'retry']
  expect(kinds).toEqual(['queued', 'attempt', 'retry', ...tries, 'waits'])
  expect(stdout).toContain('serverDelayMs: 20000')
})
