// Bundles the retry service: the program `redrive` and the library `@redrive/service`, each with its own modules alone. What they stand on, the
// queue included, is imported from the packages that the manifest declares, where users and audits see it.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { lineLimit } from './chunks.mjs'
import { serviceEntries } from './entries.mjs'

/** Writes the files. */
export async function bundleService(outdir) {
  await build({
    absWorkingDir: at(),
    entryPoints: serviceEntries,
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    target: 'node22',
    minify: true,
    lineLimit,
    legalComments: 'none',
    chunkNames: 'service-[hash]',
    logLevel: 'silent',
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  const cli = join(outdir, 'cli.js')
  writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, 'utf8')}`)
  chmodSync(cli, 0o755)
}

/** The packages whose code is in the bundle: their folders, each once. */
export function packagesIn({ outputs }) {
  const used = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  const folders = used.flatMap((path) => {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(relative('.', path).replaceAll('\\', '/')) ?? []
    return folder ?? []
  })
  return [...new Set(folders)].sort()
}
