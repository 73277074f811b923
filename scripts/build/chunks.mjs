// Which files the package is cut into. A bundler of a page cuts along them again: what a page needs at once has to be one file,
// from which the later ones import, or it becomes several requests. esbuild cuts by who needs a module and by nothing else, so
// it makes one file of each module, and Rollup puts them together.
import { basename, dirname, resolve } from 'node:path'
import { transform } from 'esbuild'
import { rollup } from 'rollup'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'

/** A chunk, and the modules that belong to it with all that they import, but for what is in one above. */
const GROUPS = {
  // what a page runs before its first call has failed
  page: ['js/queue/queue.ts', 'js/adapters/fetch.ts'],
  // what the entries only pass on: a page that does not name it loads it with the core, or never
  named: ['js/exports.ts'],
}

/**
 * Modules that stay in one file although an entry for Node alone needs some of them and not the others: cut for its sake, they would compress
 * worse for all that load both.
 */
const TOGETHER = [
  ['js/core/generated/codes.ts', 'js/options/policy.ts', 'js/options/policy-rules.ts', 'js/options/task-rules.ts'],
  ['js/call/discard.ts', 'js/call/accepted.ts', 'js/call/redirects.ts', 'js/call/own-error.ts'],
]

const IMPORTS = /from\s*"(\.[^"]+)"/g

/** Name of the chunk that is made of a module by itself. */
const nameOf = (module) =>
  basename(module)
    .replace(/\.[jt]s$/, '')
    .replace('.', '-')

/** File of a module that esbuild has made -> the chunk it belongs to, where it is in a group. */
function groupsOf(texts, moduleOf, fileOf, entries) {
  const groups = new Map(entries.map((module) => [fileOf(module), undefined]))
  for (const [name, modules] of Object.entries(GROUPS)) {
    const seen = new Set()
    const visit = (file) => {
      if (seen.has(file)) return
      seen.add(file)
      // of the numbers of the core a first attempt needs those alone that the minifier has written out
      if (nameOf(moduleOf.get(file) ?? '') === 'codes') return
      if (!groups.has(file)) groups.set(file, name)
      for (const [, path] of texts.get(file).matchAll(IMPORTS)) visit(resolve(dirname(file), path))
    }
    for (const module of modules) visit(fileOf(module))
  }
  for (const [file, module] of moduleOf) {
    const together = TOGETHER.find((each) => each.includes(module))
    if (together && !groups.has(file)) groups.set(file, together.at(-1))
  }
  return groups
}

/** Node prints the line of an uncaught error: a terminal should have room for it. */
export const lineLimit = 500

const minified = (format) => ({
  name: 'minified',
  renderChunk: (code) =>
    transform(code, {
      minify: true,
      lineLimit,
      format,
      target: 'es2022',
      legalComments: 'none',
      sourcemap: 'external',
    }),
})

/** The modules always lie beside what is required: of their text it needs the length alone, by which they are known. */
const withoutText = (moduleOf) => ({
  name: 'without-text',
  transform: (code, file) =>
    moduleOf.get(file)?.endsWith('/packed.js') ? code.replace(/"[\w+/=]{1000,}"/, '""') : undefined,
})

/** Entries whose own modules import a package, or one of Node's that warns: who does not ask for them does not load it. */
const HAS_NEEDS = /^js\/(stores\/(sqlite|redis)|adapters\/opentelemetry)(\/|\.ts$)/

/**
 * The entries for `require`. One file holds nearly all: Jest loads it for each test file, and refuses to load another once the tests of
 * that file have ended.
 */
async function writeRequired(bundle, moduleOf, outdir) {
  await bundle.write({
    dir: outdir,
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    hashCharacters: 'base36',
    manualChunks: (file) => (HAS_NEEDS.test(moduleOf.get(file) ?? '') ? undefined : 'required'),
    onlyExplicitManualChunks: true,
    // jsdom has no text encoder
    banner: ({ isEntry }) => (isEntry ? '' : 'const{TextEncoder,TextDecoder}=require("node:util");'),
    plugins: [
      minified('cjs'),
      // the helper of Rollup takes jsdom for a page
      { name: 'own-address', resolveImportMeta: () => 'require("node:url").pathToFileURL(__filename).href' },
    ],
  })
  await bundle.close()
}

/** The chunks that Rollup makes of shared modules: module -> name of its chunk, and that -> the chunk. */
async function chunksOf(bundle, groups) {
  const { output } = await bundle.generate({ manualChunks: (file) => groups.get(file), onlyExplicitManualChunks: true })
  await bundle.close()
  const shared = output.filter(({ type, isEntry, name }) => type === 'chunk' && !isEntry && !(name in GROUPS))
  const named = new Map(shared.map((chunk) => [`kept ${chunk.fileName}`, chunk]))
  return { named, of: new Map([...named].flatMap(([name, { moduleIds }]) => moduleIds.map((id) => [id, name]))) }
}

/** Writes what esbuild has made of each module to `outdir`, in few files. `entries`, `required`: name in the package -> module. `uncut`: see entries.mjs. */
export async function writeChunks({ outputFiles, metafile }, { entries, required, uncut }, outdir, external) {
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]))
  const files = new Map()
  const moduleOf = new Map()
  for (const [path, { inputs, entryPoint }] of Object.entries(metafile.outputs)) {
    // every module is an entry: where others import it, its file passes on what is in another
    if (entryPoint) files.set(entryPoint, at(path))
    const [module = entryPoint] = Object.keys(inputs)
    if (module) moduleOf.set(at(path), module)
  }
  const fileOf = (module) => files.get(module)
  const groups = groupsOf(texts, moduleOf, fileOf, Object.values(entries))
  const inputs = (modules) =>
    Object.fromEntries(Object.entries(modules).map(([name, module]) => [name, fileOf(module)]))
  const fromMemory = {
    name: 'from-memory',
    resolveId: (id, importer) => {
      const file = resolve(importer ? dirname(importer) : outdir, id)
      return texts.has(file) ? file : undefined
    },
    load: (file) => ({ code: texts.get(file), map: texts.get(`${file}.map`) }),
  }
  const rolled = (input, plugins) =>
    rollup({
      input,
      external,
      preserveEntrySignatures: 'strict',
      treeshake: { moduleSideEffects: false },
      plugins,
      onwarn: ({ message }) => {
        throw new StepError(message)
      },
    })
  const called = ({ name, facadeModuleId, moduleIds }) =>
    name in GROUPS ? name : nameOf(moduleOf.get(facadeModuleId ?? moduleIds.at(-1)) ?? 'helpers')
  const { [uncut]: _, ...others } = entries
  const kept = await chunksOf(await rolled(inputs(others), [fromMemory]), groups)
  const bundle = await rolled(inputs(entries), [fromMemory])
  await bundle.write({
    dir: outdir,
    chunkFileNames: (chunk) => `${called(kept.named.get(chunk.name) ?? chunk)}-[hash].js`,
    hashCharacters: 'base36',
    // the import of what an import imports: bundlers warn of it, since it has no effect
    hoistTransitiveImports: false,
    manualChunks: (file) => groups.get(file) ?? kept.of.get(file),
    onlyExplicitManualChunks: true,
    sourcemap: 'hidden',
    plugins: [minified('esm')],
  })
  await bundle.close()
  await writeRequired(await rolled(inputs(required), [fromMemory, withoutText(moduleOf)]), moduleOf, outdir)
}
