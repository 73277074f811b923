import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { edgeEntries } from '../../scripts/build/edge-light.mjs'
import { entries, required, serviceEntries, uiEntries } from '../../scripts/build/entries.mjs'
import { manifest as made } from '../../scripts/build/manifest.mjs'
import { root, tarball, unpacked, unpackedOf } from './pack.ts'

const text = (name: string) => readFileSync(join(unpacked, name), 'utf8')
const manifest = JSON.parse(text('package.json'))

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => relative(folder, join(found.parentPath, found.name)))
const files = filesIn(unpacked)
const papers = ['package.json', 'README.md', 'LICENSE-MIT', 'LICENSE-APACHE', 'THIRD_PARTY_NOTICES']

test('the tarball holds every entry, what they share, types, the two modules and papers, and nothing else', () => {
  const names = [...Object.keys(entries), ...Object.keys(edgeEntries)]
  const code = [...names.map((name) => `${name}.js`), ...Object.keys(required).map((name) => `${name}.cjs`)]
  const modules = ['redrive.wasm', 'redrive-keys.wasm'].flatMap((name) => [name, `${name}.d.ts`])
  const shared = /^[a-z.-]+-[a-z0-9]{8}\.c?js$|^types\/[\w/.-]+\.d\.c?ts$/
  const named = files.filter((name) => !shared.test(name))
  expect(named.sort()).toEqual([...code, ...modules, ...papers].sort())
})

test('every file that an entry of package.json names is there', () => {
  const pathsIn = (to: unknown): unknown[] =>
    typeof to === 'string' ? [to] : Object.values(to as object).flatMap(pathsIn)
  const named = pathsIn(manifest.exports)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((path) => !files.includes(String(path).replace('./', '')))).toEqual([])
})

test('it stays small: the service worker’s entry holds all the rest once more, it may not import() anything, and so do the files that are required', () => {
  expect(statSync(tarball()).size).toBeLessThan(722_000)
  const unpackedBytes = files.reduce((sum, name) => sum + statSync(join(unpacked, name)).size, 0)
  expect(unpackedBytes).toBeLessThan(1_965_000)
})

test('each file of code has a map with the sources inside, apart from the package, but for the copies for the edge; and none asks for one', () => {
  const maps = join(root, 'pkg-maps')
  const code = files.filter((name) => name.endsWith('.js') && !/^edge-|edge-light/.test(name))
  expect(readdirSync(maps).sort()).toEqual(code.map((name) => `${name}.map`).sort())
  for (const name of code) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(maps, `${name}.map`), 'utf8'))
    expect(sources.filter((source: string) => !source.startsWith('js/'))).toEqual([])
    const missing = sources.filter((_: string, i: number) => typeof sourcesContent[i] !== 'string')
    expect(missing.filter((source: string) => !source.endsWith('/packed.js'))).toEqual([])
  }
  expect(files.filter((name) => /\.c?js$/.test(name) && text(name).includes('sourceMappingURL'))).toEqual([])
})

test('the licences of all that is linked into the modules are there, with their texts', () => {
  const notices = text('THIRD_PARTY_NOTICES')
  for (const crate of ['serde-wasm-bindgen', 'sha2', 'talc', 'wasm-bindgen'])
    expect(notices).toMatch(new RegExp(`^${crate} \\d`, 'm'))
  expect(notices).toContain('Permission is hereby granted, free of charge')
  expect(notices).not.toContain('proc-macro2')
})

test('it needs no other package at run time', () => {
  expect(manifest.dependencies).toBeUndefined()
  const peers = [
    ...[
      '@grpc/grpc-js',
      '@opentelemetry/api',
      'axios',
      'express',
      'fastify',
      'hono',
      'ioredis',
      'prom-client',
      'redis',
      'undici',
    ],
  ]
  expect(Object.keys(manifest.peerDependencies)).toEqual(peers)
  expect(manifest.peerDependenciesMeta).toEqual(Object.fromEntries(peers.map((name) => [name, { optional: true }])))
})

test('its version is the one of Cargo.toml', () => {
  expect(readFileSync(join(root, 'Cargo.toml'), 'utf8')).toContain(`version = "${manifest.version}"`)
})

// the first that a host knows is taken: Workers' bundlers may know `node`, too
test.each([
  ['.', ['types', 'workerd', 'edge-light', 'require', 'node', 'development', 'default']],
  ['./core', ['types', 'workerd', 'edge-light', 'require', 'default']],
])('the conditions of %s, in this order: %s', (entry, conditions) => {
  expect(Object.keys(manifest.exports[entry])).toEqual(conditions)
})

test('what can be required is one file, and entries: they pass on what is in it, unless they need other packages', () => {
  const large = files.filter((name) => name.endsWith('.cjs') && statSync(join(unpacked, name)).size > 1_000)
  const needing = ['opentelemetry.cjs', 'redis.cjs', 'sqlite.cjs']
  expect(large.filter((name) => !needing.includes(name))).toEqual([expect.stringMatching(/^required-/)])
})

test('it is a module, has no side effects, runs no script on installation, brings no program and says so', () => {
  expect(manifest).toMatchObject({
    type: 'module',
    sideEffects: false,
    engines: { node: '>=22.13' },
  })
  for (const field of ['bin', 'scripts', 'main', 'optionalDependencies', 'bundleDependencies']) {
    expect(manifest[field], field).toBeUndefined()
  }
})

/** A file and all that it imports, at once or later. */
function reachedFrom(name: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(name) || !name.endsWith('.js')) return found
  found.add(name)
  for (const [, file = ''] of text(name).matchAll(/(?:from|import)\s*\(?\s*"\.\/([^"]+)"/g)) reachedFrom(file, found)
  return found
}

test('no chunk that a page loads fetches the module from an address, reads a file or compiles in one go', () => {
  // sqlite.js, redis.js, node.js and what reads the module from a file are Node's alone; while a page is developed it gets the latter, too
  const nodes = ['sqlite.js', 'redis.js', 'node.js', 'internal.node.js', 'index.js', 'compat-axios-retry.js']
  const entered = Object.keys(entries).map((name) => `${name}.js`)
  const loaded = new Set(entered.filter((name) => !nodes.includes(name)).flatMap((name) => [...reachedFrom(name)]))
  const found = [...loaded].filter((name) =>
    /new URL\([^)]*import\.meta|new WebAssembly\.(Module|Instance)|\breadFileSync\b/.test(text(name)),
  )
  expect(found).toEqual([])
  expect(loaded.size).toBeGreaterThan(20)
  expect([...reachedFrom('index.js')].some((name) => text(name).includes('readFileSync'))).toBe(true)
})

test('what is for Redis is in its own entry: no other loads a line of it', () => {
  const isForRedis = (name: string) => /EVALSHA|SPUBLISH|\bredis\.call\b/.test(text(name))
  const others = Object.keys(entries).filter((name) => name !== 'redis')
  const loaded = new Set(others.flatMap((name) => [...reachedFrom(`${name}.js`)]))
  expect([...loaded].filter(isForRedis)).toEqual([])
  expect([...reachedFrom('redis.js')].filter(isForRedis)).toEqual(['redis.js'])
})

describe.each([
  ['@redrive/service', 'service', serviceEntries],
  ['@redrive/ui', 'ui', uiEntries],
] as const)('%s', (name, short, own) => {
  const folder = unpackedOf(name)
  const its = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const code = filesIn(folder).filter((each) => each.endsWith('.js'))

  test('holds its entries, their own files, types and papers, and of the service the page that it shows', () => {
    const shared = new RegExp(`^${short}-[A-Z0-9]{8}\\.js$|^types/[\\w/.-]+\\.d\\.ts$|^ui/ui[\\w-]*\\.js$`)
    const named = filesIn(folder).filter((each) => !shared.test(each))
    expect(named.sort()).toEqual([...Object.keys(own).map((each) => `${each}.js`), ...papers].sort())
  })

  test('imports what it declares, and of redrive what that exports, in the version that it was built with', () => {
    const outer = code.filter((each) => !each.startsWith('ui/'))
    const imported = outer.flatMap((each) => [
      ...readFileSync(join(folder, each), 'utf8').matchAll(/(?:\bfrom|\bimport\(?)\s*"((?:@[\w-]+\/)?[\w-][\w./-]*)"/g),
    ])
    const wanted = [...new Set(imported.map(([, from = '']) => from))].filter((from) => !from.startsWith('node:'))
    const packageOf = (from: string) => /^(@[\w-]+\/)?[\w-]+/.exec(from)?.[0] ?? ''
    expect(wanted.length).toBeGreaterThan(4)
    const declared = { ...its.dependencies, ...its.peerDependencies }
    expect(wanted.filter((from) => !(packageOf(from) in declared))).toEqual([])
    const ofQueue = wanted.filter((from) => packageOf(from) === 'redrive').map((from) => from.replace('redrive', '.'))
    expect(ofQueue.filter((from) => !(from in manifest.exports))).toEqual([])
    expect([its.version, its.dependencies.redrive]).toEqual([manifest.version, manifest.version])
  })

  test('declares ranges that the versions of this repository are in', () => {
    const { redrive: _, ...others } = its.dependencies as Record<string, string>
    for (const [each, range] of Object.entries(others)) {
      const { version } = JSON.parse(readFileSync(join(root, 'node_modules', each, 'package.json'), 'utf8'))
      expect(`${each} ^${version}`).toBe(`${each} ${range}`)
    }
    expect(its).toEqual(made(short))
  })

  test('names in its notices what is bundled, and no library that it declares', () => {
    const notices = readFileSync(join(folder, 'THIRD_PARTY_NOTICES'), 'utf8')
    expect(notices).toMatch(/^talc \d/m)
    const isNamed = (each: string) => new RegExp(`^${each} \\d`, 'm').test(notices)
    expect(['lit-html', 'uplot'].map(isNamed)).toEqual(short === 'service' ? [true, true] : [false, true])
    expect(Object.keys(its.dependencies).filter((each) => each !== 'uplot' && isNamed(each))).toEqual([])
  })
})

test('@redrive/service brings the program, which says by itself what runs it', () => {
  const { bin } = JSON.parse(readFileSync(join(unpackedOf('@redrive/service'), 'package.json'), 'utf8'))
  expect(bin).toEqual({ redrive: './cli.js' })
  expect(readFileSync(join(unpackedOf('@redrive/service'), 'cli.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
})
