// Each bench with a page in it once, with next to no work: see tests/tooling/benches.slow.test.ts.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { here } from './chromium.ts'

const program = here('../../benches/run.mjs')

test.for(['headers', 'indexeddb', 'lanes', 'seats'])('npm run bench -- %s', { timeout: 180_000 }, async (name) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, '--smoke'])
  expect(stdout).toMatch(/Chromium/)
  expect(stdout).not.toContain('left out')
})

test('a signal ends a bench, its servers and its browser', async () => {
  const child = spawn(process.execPath, [program, 'seats'], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const chunk of child.stdout) if (String(chunk).includes('## seats')) break
  child.kill('SIGTERM')
  // all that it has started writes to the same pipe, which is closed once they are gone
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
})
