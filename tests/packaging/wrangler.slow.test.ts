// Cloudflare's own tool with nothing configured but a name and a date, its output run in workerd.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { consumer, expected, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { root } from './pack.ts'
import { tries } from './tries.ts'
import { type Budget, weighProgram } from './weigh.ts'
import { workerd } from './worker-bundle.ts'

/** The code without the core, which lies beside it: the two modules are counted as files. */
const BUDGET: Budget = { before: 96_000, after: 96_000 }

const worker = `
import { main } from './queue.js'
export default {
  async fetch(request) {
    return Response.json(await main(new URL(request.url).searchParams.get('api')))
  }
}
`

tries(versioned('wrangler', 'wrangler'), 'deploy --dry-run, run in workerd', async () => {
  await using server = await flakyServer()
  using project = consumer({ 'worker.js': worker, 'queue.js': program })
  const wrangler = join(root, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
  const options = ['--name', 'consumer', '--compatibility-date', '2026-07-01', '--dry-run', '--outdir', 'dist']
  await project.run(process.execPath, wrangler, 'deploy', 'worker.js', ...options)
  const wasm = project.files('dist').filter((name) => name.endsWith('.wasm'))
  const read = (path: string) => readFileSync(join(project.folder, 'dist', path))
  await using miniflare = workerd([
    { type: 'ESModule', path: 'worker.js', contents: read('worker.js').toString() },
    ...wasm.map((path) => ({ type: 'CompiledWasm', path, contents: read(path) }) as const),
  ])
  const api = `${server.origin}/api/wrangler`
  const response = await miniflare.dispatchFetch(`http://worker/?api=${encodeURIComponent(api)}`)
  expect(await response.json()).toEqual(expected)
  expect(server.hits('/api/wrangler')).toBe(2)
  return weighProgram(project, 'dist', BUDGET, 2)
})
