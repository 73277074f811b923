// Writes the API reference, docs/api/, from the declarations of the built package: what an editor shows is what the site shows. A warning of
// TypeDoc is a failure: a link that leads nowhere, or a type that is named and not shown.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, relative } from 'node:path/posix'
import { fileURLToPath } from 'node:url'
import { Application, Comment, LogLevel, ReflectionKind } from 'typedoc'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'
import { entries, serviceEntries, uiEntries } from '../scripts/build/entries.mjs'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const out = at('../docs/api')

/** Names of an entry's file in the package that are no words of an import: other conditions of the same one. */
const isCondition = (name) => name.includes('.')

/** Where an entry is imported from, and its declarations. */
const moduleIn = (folder, name, source) => ({
  name,
  types: at(source.replace(/^js\//, `../${folder}/types/`).replace(/\.ts$/, '.d.ts')),
})
const modules = [
  ...Object.entries(entries)
    .filter(([name]) => !isCondition(name) && name !== 'internal')
    .map(([name, source]) =>
      moduleIn('pkg', name === 'index' ? 'redrive' : `redrive/${name.replace(/^compat-/, 'compat/')}`, source),
    ),
  moduleIn('pkg-service', '@redrive/service', serviceEntries.service),
  moduleIn('pkg-ui', '@redrive/ui', uiEntries.ui),
  moduleIn('pkg-ui', '@redrive/ui/sources', uiEntries['ui-sources']),
]

/** Shapes that another type consists of, which nobody needs by name. A type that is not listed here has to be exported. */
const unnamed = [
  'api/policy.d.ts:TableDelays',
  'api/task.d.ts:MetaValue',
  'api/task-errors.d.ts:ExhaustedFacts',
  'cloudflare/env.d.ts:WorkerEnv',
  'cloudflare/env.d.ts:__global.Cloudflare.Env',
  'cloudflare/namespace.d.ts:ObjectFault',
  'cloudflare/object-state.d.ts:ObjectState',
  'cloudflare/with-retry.d.ts:Context',
  'cloudflare/with-retry.d.ts:Handle',
  'cloudflare/with-retry.d.ts:QueueMessage',
  'node.d.ts:Closable',
  'options/own-sending.d.ts:UnmadeError',
  'options/queue-options.d.ts:RetryQueueOptions', // and options of its own
  'platform/web.d.ts:BodyLike',
  'platform/web.d.ts:HeadersLike',
  'platform/web.d.ts:RequestLike',
  'queue/queue.d.ts:RetryQueue', // each entry exports a class of its own that extends it
  'service/names.d.ts:Lookup',
  'service/partitions.d.ts:PartitionBy',
  'service/transport.d.ts:TransportOptions',
  'stores/durable-object/database.d.ts:ObjectStorage',
  'stores/memory/enqueue.d.ts:LeaseWish',
  'stores/memory/rows.d.ts:Hint',
  'stores/redis/port.d.ts:Arg',
  'stores/redis/port.d.ts:Reply',
]

const app = await Application.bootstrapWithPlugins({
  name: 'API',
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: modules.map(({ types }) => types),
  tsconfig: at('tsconfig.api.json'),
  sortEntryPoints: false,
  readme: 'none',
  disableSources: true, // line numbers of declarations help nobody
  excludePrivate: true,
  excludeExternals: true,
  intentionallyNotExported: unnamed,
  logLevel: LogLevel.Warn,
  router: 'member',
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'list',
  indexFormat: 'table',
  pageTitleTemplates: {
    index: 'API',
    module: ({ name }) => name,
    member: ({ name }) => name,
  },
  outputs: [{ name: 'markdown', path: out }],
})
const project = await app.convert()
if (project === undefined) throw new Error('TypeDoc made nothing of the declarations')
for (const { name, types } of modules) {
  // a module is converted under its path below the folder that all entries share, an index under its folder's
  const path = types.replace(/(\/index)?\.d\.ts$/, '')
  const found = project.children?.find((child) => path.endsWith(`/${child.name}`))
  if (found === undefined) throw new Error(`TypeDoc shows no module for ${name}`)
  found.name = name
  found.comment = new Comment([{ kind: 'text', text: headOf(types) }])
}

/** The comment that opens an entry, as text. */
function headOf(types) {
  const [, head] = /^\/\*\*\s*([\s\S]*?)\s*\*\//.exec(readFileSync(types, 'utf8')) ?? []
  if (head === undefined) throw new Error(`${types} does not open with a comment that says what the entry is`)
  return head.replace(/(^|\n)\s*\* ?/g, '$1')
}

// a docstring names a page as its author sees it, `docs/gates.md`; on the site that is a link
app.renderer.on(MarkdownPageEvent.END, (page) => {
  const up = relative(dirname(page.url), '..')
  page.contents = page.contents?.replace(/(?<![\w/`])docs\/([\w-]+)\.md(?![\w`])/g, (whole, name) =>
    existsSync(at(`../docs/${name}.md`)) ? `[${name}](${up}/${name}.md)` : whole,
  )
})

// a class that nobody can import is no more to a reader than where these members come from
for (const each of project.getReflectionsByKind(ReflectionKind.All)) {
  if (each.extendedTypes?.every(({ reflection }) => reflection === undefined)) {
    delete each.extendedTypes
    delete each.typeHierarchy
  }
  for (const kind of ['inheritedFrom', 'overwrites']) {
    const { signatures = [], getSignature, setSignature } = each
    for (const named of [each, ...signatures, getSignature, setSignature]) {
      if (named?.[kind] !== undefined && named[kind].reflection === undefined) delete named[kind]
    }
  }
}

// only types of the project's own package are validated, and these are three
for (const folder of ['pkg', 'pkg-service', 'pkg-ui']) {
  project.packageName = JSON.parse(readFileSync(at(`../${folder}/package.json`), 'utf8')).name
  const isHere = (each) => existsSync(at(`../${folder}/types/${each.split(':')[0]}`))
  app.options.setValue('intentionallyNotExported', unnamed.filter(isHere))
  app.validate(project)
}
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
await app.generateOutputs(project)
if (app.logger.errorCount > 0 || app.logger.warningCount > 0) process.exitCode = 1
