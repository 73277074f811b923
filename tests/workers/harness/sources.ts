/** Our sources as a Worker of one module, with whatever of them a test wants replaced. */
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const here = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** The runner's own modules name Node's: in a Worker these are empty, and nothing that is called there uses them. */
const withoutNode: Plugin = {
  name: 'without-node',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'empty' }))
    build.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** `entry` and the files in `instead` are under tests/; a file that is instead of a module still gets the module itself. */
export async function workerOfSources(
  entry: string,
  given: { readonly define?: Record<string, string>; readonly instead?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { define = {}, instead = {} } = given
  const replaced: Plugin = {
    name: 'replaced',
    setup(build) {
      for (const [name, file] of Object.entries(instead)) {
        build.onResolve({ filter: new RegExp(`^${name}$`) }, ({ importer }) =>
          importer === here(`${file}`) ? undefined : { path: here(`${file}`) },
        )
      }
    },
  }
  const { outputFiles } = await build({
    entryPoints: [here(`${entry}`)],
    bundle: true,
    format: 'esm',
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
