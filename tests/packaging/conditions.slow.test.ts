// The condition under which the package is found decides when options are checked: see docs/packaging.md.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as esbuild from 'esbuild'
import { expect, test } from 'vitest'
import { consumer } from './consumer.ts'

const program = `
import { RetryQueue } from 'redrive'
export const make = () => new RetryQueue({ concurency: 3, warn: false })
`

/** A queue with an option that there is not, made by a program that was bundled so. */
async function made(options: esbuild.BuildOptions): Promise<{ enqueue(url: string): Promise<unknown> }> {
  using project = consumer({ 'main.js': program })
  const given = { absWorkingDir: project.folder, entryPoints: ['main.js'], outdir: 'dist' }
  await esbuild.build({ ...given, bundle: true, format: 'esm', outExtension: { '.js': '.mjs' }, ...options })
  const { make } = await import(pathToFileURL(join(project.folder, 'dist', 'main.mjs')).href)
  return make()
}

const WORDS = "options.concurency: no such option; did you mean 'concurrency'?"

test.each<[string, esbuild.BuildOptions]>([
  ['for Node', { platform: 'node' }],
  ['for a page, while it is developed', { conditions: ['development'] }],
])('%s: a wrong option throws where it is written', async (_, options) => {
  await expect(made(options)).rejects.toThrow(new TypeError(WORDS))
})

test('for a page, in production: a wrong option is told when the checks have come, and nothing is kept', async () => {
  const queue = await made({ conditions: ['production'] })

  await expect(queue.enqueue('https://api.test/orders')).rejects.toThrow(new TypeError(WORDS))
})
