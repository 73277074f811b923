// The files that `npm run check` weighs are those that a browser asks for, at the times that it says.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { partsOf } from '../../scripts/check/pages.mjs'
import { launch } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { aroundTheFirstCall, runPage } from './browser.ts'
import { pageOf } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'

const browser = duringTests(() => launch())
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Its first call fails, and is not tried again: there is no task. */
const programWith = (options: string) => ({
  'main.js': `
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

const queue = new RetryQueue(${options})
const init = { redrive: { policy: { maxAttempts: 1 } } }
wrapFetch(queue)('/api/first', init).then(() => queue.ready).then(() => { globalThis.answer = queue.stats().depth })
`,
})

/** The scripts that a page asks for before its first call and in all, and those that its build is said to load. */
async function loads(bundler: string, options: string) {
  // the test runner's own would mean a build for development
  vi.stubEnv('NODE_ENV', undefined)
  const parts = await partsOf(bundler, 'loads', programWith(options))
  const index = join(parts.folder, 'index.html')
  if (!existsSync(index)) writeFileSync(index, pageOf('/main.js'))
  await using server = await flakyServer(parts.folder)
  const run = await runPage(browser, `${server.origin}/`)
  expect({ answer: run.answer, errors: run.errors }).toEqual({ answer: 0, errors: [] })
  const { before, after } = aroundTheFirstCall(run)
  const scripts = (paths: readonly string[]) =>
    paths.filter((path) => path.endsWith('.js')).map((path) => path.slice(1))
  return { parts, before: scripts(before).sort(), after: scripts(after).sort() }
}

const bundlers = ['Vite', 'webpack', 'Rollup', 'esbuild']

test.each(bundlers)(
  '%s: before its first call a page asks for what is loaded at once, then for the core',
  async (bundler) => {
    const { parts, before, after } = await loads(bundler, '{}')
    expect(before).toEqual([...parts.atOnce].sort())
    expect(after).toEqual([...parts.atOnce, ...parts.atIdle].sort())
    const durable = await loads(bundler, "{ durable: true, principal: 'ann' }")
    expect(durable.before).toEqual([...durable.parts.atOnce].sort())
    const all = ({ atOnce, atIdle, withPrincipal }: typeof parts) => [...atOnce, ...atIdle, ...withPrincipal]
    expect(durable.after, 'with a principal').toEqual(all(durable.parts).sort())
    const content = await loads(bundler, "{ durable: true, principal: 'ann', idempotency: { mode: 'content' } }")
    expect(content.after, 'with content keys').toEqual([...all(content.parts), ...content.parts.forKeys].sort())
  },
)
