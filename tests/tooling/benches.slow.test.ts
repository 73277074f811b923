// Each bench once, with next to no work: one that no longer works is found here, and not by whoever needs a figure.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('../../benches/run.mjs', import.meta.url))

const asked = [
  ...['boundary', 'cold-start', 'drained', 'gates', 'happy-path', 'lab', 'lateness', 'loopback', 'memory', 'parts'],
  ...['agenda', 'delays', 'headers', 'json', 'keys'],
  ...[
    'scheduling',
    'stores',
    'profile',
    'compare pkg pkg --only 1,000',
    'compare pkg pkg --only size',
    'drain',
    'outage',
  ],
]

async function smoked(words: string): Promise<string> {
  // no browser: tests/browser/benches.slow.test.ts has one
  const env = { ...process.env, CHROMIUM_PATH: 'none' }
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words.split(' '), '--smoke'], { env })
  return stdout
}

test.for(asked)('npm run bench -- %s', { timeout: 120_000 }, async (words) => {
  expect(await smoked(words)).toMatch(/\| +\d|\d$/m)
})

// it starts a dozen services
test('npm run bench -- service', { timeout: 300_000 }, async () => {
  const stdout = await smoked('service')
  for (const part of [
    'POSTs on 50',
    'sent to a server',
    'tasks due over',
    'tenants whose target works',
    'beside a flood',
    'to a calm first attempt',
    'minute 1',
  ]) {
    expect(stdout).toContain(part)
  }
  expect(stdout).not.toContain('left out')
})
