// Bundles the retry service: the program `redrive` and the library `redrive/service`, each with all that it stands on, since
// `npx` installs no peer of a package. What is for pages and Workers is made by bundle.mjs, and neither has a line of the other.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { serviceEntries } from './entries.mjs'

/** Some of the libraries are CommonJS, and ask for Node's modules by `require`. */
const REQUIRE = "import { createRequire as $require } from 'node:module';const require = $require(import.meta.url);"

/** An optional part of the client of Redis, and the SDK that finds the credentials of roles, which the user installs. The service goes on without. */
const external = ['@node-rs/xxhash', '@aws-sdk/credential-providers']

/**
 * Leaves out what nothing asks for and no bundler finds out: undici's main file requires all of its parts (fetch, caches, web sockets),
 * zod's passes on the messages in forty languages, and that of AWS' signer has the whole core of their SDK.
 */
const lean = {
  name: 'lean',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'lean' }))
    onLoad({ filter: /./, namespace: 'lean' }, () => ({
      contents: ['Client', 'Pool', 'ProxyAgent']
        .map((name) => `export { default as ${name} } from '${undiciFile(name)}'`)
        .join('\n'),
      resolveDir: at(),
    }))
    // its other form is one file that asks for the whole of the SDK's core
    onResolve({ filter: /^@smithy\/signature-v4$/ }, () => ({
      path: at('node_modules', '@smithy', 'signature-v4', 'dist-es', 'index.js'),
    }))
    // asked for by parts that are left out, and a file of its own all the same
    onResolve({ filter: /^@smithy\/core\/event-streams$/ }, ({ path }) => ({ path, external: true }))
    onResolve({ filter: /\/locales\/index\.js$/ }, async ({ path, ...about }) => {
      if (about.pluginData === lean) return undefined
      const found = await resolve(path, { ...about, pluginData: lean })
      return /node_modules[\\/]zod[\\/]/.test(found.path) ? { path: found.path.replace('index.js', 'en.js') } : found
    })
  },
}

const undiciFile = (name) => `undici/lib/dispatcher/${name.replace(/[a-z](?=[A-Z])/g, '$&-').toLowerCase()}.js`

/** Writes the files, and gives the folders in node_modules of the packages that are in them. */
export async function bundleService(outdir) {
  const { metafile } = await build({
    absWorkingDir: at(),
    entryPoints: serviceEntries,
    outdir,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    conditions: ['module'],
    external,
    target: 'node22',
    minify: true,
    keepNames: false,
    define: { QUEUE_FILE: '"redrive.wasm"', KEYS_FILE: '"redrive-keys.wasm"' },
    banner: { js: REQUIRE },
    legalComments: 'none',
    chunkNames: 'service-[hash]',
    logLevel: 'silent',
    plugins: [lean],
  }).catch((error) => {
    throw new StepError(error.message) // its stack is the bundler's own
  })
  const cli = join(outdir, 'cli.js')
  writeFileSync(cli, `#!/usr/bin/env node\n${readFileSync(cli, 'utf8')}`)
  chmodSync(cli, 0o755)
  return packagesIn(metafile)
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
