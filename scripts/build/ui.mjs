// Bundles @redrive/ui: the elements with their own modules alone, which import Lit, uPlot and the queue from the packages that the manifest declares. And once
// more with all of that inside, for the page that the service shows: a browser that asks a server for files resolves no names of packages.
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { build } from 'esbuild'
import { at, root } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { uiEntries } from './entries.mjs'
import { packagesIn } from './service.mjs'

/** The style sheet of uPlot is text in the code: no bundler takes a style sheet of a package as text without being told. */
const outside = {
  name: 'outside',
  setup({ onResolve }) {
    onResolve({ filter: /^(redrive|lit|uplot)(\/|$)/ }, ({ path }) =>
      path.endsWith('.css') ? undefined : { path, external: true },
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

/** The queue of the page is the sources', with what `redrive` and `redrive/internal` have in pages: of the class the elements know the type alone. */
const inside = {
  name: 'inside',
  setup({ onResolve }) {
    onResolve({ filter: /^redrive$/ }, () => ({ path: at('js', 'exports.ts') }))
    onResolve({ filter: /^redrive\/internal$/ }, () => ({ path: at('js', 'internal.ts') }))
  },
}

/** The files of a bundle that `names` load, at once or later: the bundler makes one for each `import()` that it has seen, also where it has left that out. */
function loaded(outputs, names) {
  const found = new Set()
  const visit = (name) => {
    if (found.has(name)) return
    found.add(name)
    for (const { path, external } of outputs[name].imports) if (!external) visit(path)
  }
  for (const [name, { entryPoint }] of Object.entries(outputs)) if (names.includes(entryPoint)) visit(name)
  return found
}

/** Writes the files, and gives the folders in node_modules of the packages that are in them. `isWhole`: with all that they stand on. */
export async function bundleUi(outdir, isWhole = false) {
  const { 'ui.server': onServer, ...inPage } = uiEntries
  const entryPoints = isWhole ? inPage : uiEntries
  const { metafile, outputFiles } = await build({
    absWorkingDir: at(),
    entryPoints,
    outdir,
    write: false,
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
    plugins: [isWhole ? inside : outside, tight],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  const names = loaded(metafile.outputs, Object.values(entryPoints))
  mkdirSync(outdir, { recursive: true })
  for (const { path, contents } of outputFiles) {
    if (names.has(relative(root, path).replaceAll('\\', '/'))) writeFileSync(path, contents)
  }
  return packagesIn(metafile)
}
