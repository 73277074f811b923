/** Sources of ours as one script, as esbuild makes it, with whatever of them a test wants replaced. */
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** A path under tests/. */
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The runner's own modules name Node's: elsewhere these are empty, and nothing that is called there uses them. */
const withoutNode: Plugin = {
  name: 'without-node',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'empty' }))
    build.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

export interface Given {
  readonly define?: Record<string, string>
  /** For the module named, this file; the file itself still gets the module. */
  readonly instead?: Readonly<Record<string, string>>
}

/** `entry` and the files in `instead` are under tests/. */
async function bundle(entry: string, format: 'esm' | 'iife', { define = {}, instead = {} }: Given): Promise<string> {
  const replaced: Plugin = {
    name: 'replaced',
    setup(build) {
      for (const [name, file] of Object.entries(instead)) {
        build.onResolve({ filter: new RegExp(`^${name}$`) }, ({ importer }) =>
          importer === here(file) ? undefined : { path: here(file) },
        )
      }
    },
  }
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    format,
    platform: 'browser',
    target: 'es2022',
    external: ['cloudflare:*'],
    define,
    write: false,
    logLevel: 'silent',
    plugins: [replaced, withoutNode],
  })
  const [script] = outputFiles
  if (!script) throw new Error(`${entry}: the bundler gave nothing`)
  return script.text
}

/** One script that a page runs. */
export const bundleForPage = (entry: string, given: Given = {}): Promise<string> => bundle(entry, 'iife', given)

/** One module that is a Worker. */
export const bundleForWorker = (entry: string, given: Given = {}): Promise<string> => bundle(entry, 'esm', given)
