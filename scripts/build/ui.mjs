// Bundles redrive/ui: the elements with Lit and uPlot in them, so that a page installs nothing else. The core is not bundled but imported from
// the package, the same file as everybody's; what only the lab needs lies in files that are loaded when it is asked for.
import { readFile } from 'node:fs/promises'
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { uiEntries } from './entries.mjs'
import { packagesIn } from './service.mjs'

const core = {
  name: 'core',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/core\.ts$/ }, ({ importer, path }) =>
      importer === at('js', 'ui.ts') ? { path: path.replace('.ts', '.js'), external: true } : undefined,
    )
  },
}

/** Runs of white space in style sheets mean one space; the sources keep their lines, the package does not. */
const tight = {
  name: 'tight',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]js[\\/]ui[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/\bcss`[^`]*`/g, tightened),
      loader: 'ts',
    }))
  },
}

const tightened = (sheet) =>
  sheet
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replaceAll(': ', ':')

/** Writes the files, and gives the folders in node_modules of the packages that are in them. */
export async function bundleUi(outdir) {
  const { metafile } = await build({
    absWorkingDir: at(),
    entryPoints: uiEntries,
    outdir,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['browser', 'production'],
    target: 'es2022',
    minify: true,
    define: { LAB_WORKER: '"./ui-worker.js"' },
    legalComments: 'none',
    loader: { '.css': 'text' },
    chunkNames: 'ui-[hash]',
    logLevel: 'silent',
    plugins: [core, tight],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  return packagesIn(metafile)
}

/** The files of the elements in a package: the entry, and what is loaded later. */
export const isUiFile = (name) => /^ui(-worker|-[A-Z0-9]{8})?\.js$/.test(name)
