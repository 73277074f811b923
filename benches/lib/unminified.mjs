// The contestants of the scheduling bench in one bundle with redrive's sources: split into chunks as the package is, but with the names
// of its functions, and with a map back to the files they were written in.
import { readFileSync, rmSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { at, root } from '../../scripts/lib/paths.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const outdir = at('target', 'profile')

/** What the contestants take from the built package comes from the sources. */
const packageFromSources = {
  name: 'package-from-sources',
  setup(build) {
    build.onResolve({ filter: /\/package\.mjs$/ }, () => ({ path: at('js', 'index.ts') }))
  },
}

/** @returns {Promise<{ contestants: object, placeOf(url: string, line: number, column: number): string }>} */
export async function unminifiedContestants() {
  rmSync(outdir, { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: [join(here, 'schedulers.mjs')],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    packages: 'external',
    external: ['node:*'],
    target: 'es2022',
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [packageFromSources],
  })
  const { contestants } = await import(pathToFileURL(join(outdir, 'schedulers.mjs')).href)
  return { contestants, placeOf: places() }
}

/** From a position in the bundle, counted from 0, to `file:line` in the repository. */
function places() {
  const maps = new Map()
  const mapOf = (file) => {
    if (!maps.has(file)) maps.set(file, new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))))
    return maps.get(file)
  }
  return (url, line, column) => {
    if (!url.startsWith('file:')) return url.startsWith('wasm:') ? 'wasm' : url
    const file = fileURLToPath(url)
    if (!file.startsWith(outdir)) return relative(root, file)
    const { originalSource, originalLine } = mapOf(file).findEntry(line, column)
    return originalSource ? `${relative(root, join(outdir, originalSource))}:${originalLine + 1}` : relative(root, file)
  }
}
