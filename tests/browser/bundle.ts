/** Sources as one script for a page, as esbuild makes it. */
import { build, type Plugin } from 'esbuild'
import { here } from './chromium.ts'

/** The runner's own modules name Node's: in a page these are empty, and nothing that a page calls uses them. */
const withoutNode: Plugin = {
  name: 'without-node',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'empty' }))
    build.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** `instead`: for the module named, this file; the file itself still gets the module. */
export async function bundleForPage(
  entry: string,
  given: { readonly define?: Record<string, string>; readonly instead?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { define = {}, instead = {} } = given
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
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    define,
    write: false,
    logLevel: 'silent',
    plugins: [replaced, withoutNode],
  })
  const [script] = outputFiles
  if (!script) throw new Error(`${entry}: the bundler gave nothing`)
  return script.text
}
