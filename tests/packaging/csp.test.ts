// A page with a strict Content-Security-Policy, bundled from the tarball: WebAssembly needs one word in it, and where that
// is missing it costs the retries, never the call.
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import { expect } from 'vitest'
import { launch } from '../browser/chromium.ts'
import { runPage } from './browser.ts'
import { consumer, expected, inPage, pageOf, program } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { tries } from './tries.ts'

const strict = "default-src 'self'; script-src 'self'"

/** With the messages of `degraded`, and a second call after the first. */
const twice = program
  .replace('({ code }) => degraded.push(code)', '({ code, message }) => degraded.push({ code, message })')
  .replace('await queue.close()', "await wrapFetch(queue)(url + '-again')\n  await queue.close()")

/** Runs the page under `policy`; `hits`: what each of its two calls came to. */
async function under(policy: string): Promise<{ readonly answer: unknown; readonly hits: readonly number[] }> {
  using project = consumer({ 'dist/index.html': pageOf('/main.js'), 'main.js': inPage, 'queue.js': twice })
  const options = { bundle: true, splitting: true, format: 'esm', outdir: 'dist', logLevel: 'silent' } as const
  await esbuild.build({ absWorkingDir: project.folder, entryPoints: ['main.js'], ...options })
  await using server = await flakyServer(join(project.folder, 'dist'), policy)
  await using browser = await launch()
  const { answer, errors } = await runPage(browser, `${server.origin}/?api=/api/csp`)
  expect(errors).toEqual([])
  return { answer, hits: [server.hits('/api/csp'), server.hits('/api/csp-again')] }
}

tries('Chromium', "page with script-src 'self' 'wasm-unsafe-eval'", async () => {
  expect(await under(`${strict} 'wasm-unsafe-eval'`)).toEqual({ answer: expected, hits: [2, 2] })
  return undefined
})

tries('Chromium', "page with script-src 'self': plain fetch, and `degraded` says why", async () => {
  const degraded = [{ code: 'wasm_refused', message: expect.stringContaining("script-src 'wasm-unsafe-eval'") }]
  const answer = { status: 503, body: 'attempt 1', degraded }
  expect(await under(strict)).toEqual({ answer, hits: [1, 1] })
  return undefined
})
