// Four bundlers with their default settings, each telling of its output what the sizes of a page
// are made of: the files that are loaded at once, and those that come with each `import()`.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build as esbuild } from 'esbuild'
import { rollup } from 'rollup'
import { build as vite } from 'vite'
import webpack from 'webpack'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

/**
 * @typedef {object} Output
 * @property {string} folder where the files are
 * @property {readonly string[]} entry the files that a page loads at once
 * @property {ReadonlyMap<string, readonly string[]>} later file name that is given to `import()` -> the files it needs
 */

/** A page of its own that has installed the package. */
function project(folder, program) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(at('pkg'), join(folder, 'node_modules', 'redrive'), 'junction')
  writeFileSync(join(folder, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>')
  for (const [name, text] of Object.entries(program)) writeFileSync(join(folder, name), text)
}

/** A file and all that it imports statically. */
function closure(file, importsOf, found = []) {
  if (found.includes(file)) return found
  found.push(file)
  for (const each of importsOf(file)) closure(each, importsOf, found)
  return found
}

/** The output of Rollup or Vite, who have the same words for it. */
function ofRollup(folder, output) {
  const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]))
  const withImports = (file) => closure(file, (each) => chunks.get(each).imports.filter((name) => chunks.has(name)))
  const [{ fileName }] = [...chunks.values()].filter(({ isEntry }) => isEntry)
  const later = new Map()
  for (const { fileName: file, isDynamicEntry, facadeModuleId, moduleIds } of chunks.values()) {
    if (!isDynamicEntry) continue
    for (const id of [facadeModuleId, ...moduleIds]) if (id) later.set(basename(id), withImports(file))
  }
  return { folder, entry: withImports(fileName), later }
}

async function ofVite(folder) {
  const before = process.env.NODE_ENV
  const { output } = await vite({ root: folder, configFile: false, logLevel: 'error' })
  // it sets the environment of this process
  if (before === undefined) delete process.env.NODE_ENV
  return ofRollup(join(folder, 'dist'), output)
}

async function withRollup(folder) {
  const onwarn = ({ message }) => {
    throw new StepError(message)
  }
  const bundle = await rollup({ input: join(folder, 'main.js'), plugins: [nodeResolve()], onwarn })
  const { output } = await bundle.write({ dir: join(folder, 'dist') })
  await bundle.close()
  return ofRollup(join(folder, 'dist'), output)
}

async function withEsbuild(folder) {
  const options = { bundle: true, format: 'esm', splitting: true, minify: true, metafile: true, logLevel: 'error' }
  const given = { absWorkingDir: folder, entryPoints: ['main.js'], outdir: 'dist' }
  const { metafile } = await esbuild({ ...given, ...options })
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
  const importsOf = (file) =>
    outputs.get(file).imports.flatMap(({ path, kind }) => (kind === 'import-statement' ? [basename(path)] : []))
  const entries = [...outputs].filter(([, { entryPoint }]) => entryPoint !== undefined)
  const later = new Map(entries.map(([file, { entryPoint }]) => [basename(entryPoint), closure(file, importsOf)]))
  return { folder: join(folder, 'dist'), entry: later.get('main.js'), later }
}

async function withWebpack(folder) {
  const output = { path: join(folder, 'dist') } // what its command line does
  const compiler = webpack({ context: folder, entry: './main.js', mode: 'production', output })
  const stats = await new Promise((resolve, reject) => {
    compiler.run((error, result) => compiler.close(() => (error ? reject(error) : resolve(result))))
  })
  if (stats.hasErrors() || stats.hasWarnings()) throw new StepError(stats.toString('errors-warnings'))
  const { compilation } = stats
  const filesOf = ({ chunks }) => chunks.flatMap(({ files }) => [...files])
  const later = new Map()
  for (const { blocks } of compilation.modules) {
    for (const block of blocks) {
      later.set(basename(block.request), filesOf(compilation.chunkGraph.getBlockChunkGroup(block)))
    }
  }
  return { folder: join(folder, 'dist'), entry: filesOf(compilation.entrypoints.get('main')), later }
}

const bundlers = { Vite: ofVite, webpack: withWebpack, Rollup: withRollup, esbuild: withEsbuild }

/** Name of a bundler -> a function that builds the page of `program` (name -> text, `main.js` among them) with it. */
export const builds = Object.fromEntries(
  Object.entries(bundlers).map(([bundler, build]) => [
    bundler,
    (name, program) => {
      const folder = at('target', 'pages', name, bundler.toLowerCase())
      mkdirSync(dirname(folder), { recursive: true })
      project(folder, program)
      return /** @type {Promise<Output>} */ (build(folder))
    },
  ]),
)
