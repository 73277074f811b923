// The example of a trace, as `npm run trace` runs it.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './pack.ts'

test('one task is one trace over three attempts and a restart', async () => {
  const script = join(root, 'examples', 'trace', 'run.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
  expect(stdout).toContain('1 trace, 1 root, 3 attempts; 3 of 3 requests')
})
