// The trace in the documentation is what the example prints, but for ids and times.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './pack.ts'

const bare = (text: string) => text.replace(/\b[\da-f]{16,32}\b/g, 'id').replace(/[+ ]*[\d.]+ (?=m?s\b)/g, ' ')

test('one task is one trace over three attempts and a restart, as the documentation shows it', async () => {
  const script = join(root, 'examples', 'trace', 'run.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
  expect(stdout).toContain('1 trace, 1 root, 3 attempts; 3 of 3 requests')
  const page = readFileSync(join(root, 'docs', 'observability.md'), 'utf8')
  const [, shown = ''] = /```text\n(trace [\s\S]*?)```/.exec(page) ?? []
  expect(bare(shown)).toBe(bare(stdout))
})
