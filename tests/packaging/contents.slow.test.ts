import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { edgeEntries } from '../../scripts/build/edge-light.mjs'
import { entries, required, serviceEntries, uiEntries } from '../../scripts/build/entries.mjs'
import { root, tarball, unpacked } from './pack.ts'

const text = (name: string) => readFileSync(join(unpacked, name), 'utf8')
const manifest = JSON.parse(text('package.json'))

const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
  .filter((found) => found.isFile())
  .map((found) => relative(unpacked, join(found.parentPath, found.name)))

test('the tarball holds every entry, what they share, types, the two modules and papers, and nothing else', () => {
  const names = [
    ...Object.keys(entries),
    ...Object.keys(edgeEntries),
    ...Object.keys(serviceEntries),
    ...Object.keys(uiEntries),
  ]
  const code = [...names.map((name) => `${name}.js`), ...Object.keys(required).map((name) => `${name}.cjs`)]
  const modules = ['redrive.wasm', 'redrive-keys.wasm'].flatMap((name) => [name, `${name}.d.ts`])
  const papers = ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE-MIT', 'LICENSE-APACHE', 'THIRD_PARTY_NOTICES']
  const shared = /^[a-z.-]+-[a-z0-9]{8}\.c?js$|^(service|ui)-[A-Z0-9]{8}\.js$|\.js\.map$|^types\/[\w/.-]+\.d\.c?ts$/
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
  expect(statSync(tarball()).size).toBeLessThan(2_450_000)
  const loaded = files.filter((name) => !name.endsWith('.map') && !isApart(name))
  const unpackedBytes = loaded.reduce((sum, name) => sum + statSync(join(unpacked, name)).size, 0)
  expect(unpackedBytes).toBeLessThan(1_940_000)
})

/** Bundled with the libraries that it stands on, which are no sources of ours. */
const isApart = (name: string): boolean =>
  /^(cli|service|ui|ui-sources|ui-worker|ui\.server|(service|ui)-[A-Z0-9]{8})\.js$/.test(name)

test('each file of code has a map with the sources inside, but the service, the elements, and the copies for the edge, whose columns have moved', () => {
  const code = files.filter((name) => name.endsWith('.js') && !isApart(name))
  const mapOf = (name: string) => /\n\/\/# sourceMappingURL=(.*)\n?$/.exec(text(name))?.[1]
  const without = code.filter((name) => mapOf(name) === undefined)
  expect(without.filter((name) => !/^edge-|edge-light/.test(name))).toEqual([])
  for (const name of code.filter((each) => !without.includes(each))) {
    const { sources, sourcesContent } = JSON.parse(text(mapOf(name) ?? ''))
    expect(sources.filter((source: string) => !source.startsWith('js/'))).toEqual([])
    const missing = sources.filter((_: string, i: number) => typeof sourcesContent[i] !== 'string')
    expect(missing.filter((source: string) => !source.endsWith('/packed.js'))).toEqual([])
  }
})

test('the licences of all that is linked into the modules are there, with their texts', () => {
  const notices = text('THIRD_PARTY_NOTICES')
  for (const crate of ['serde-wasm-bindgen', 'sha2', 'talc', 'wasm-bindgen'])
    expect(notices).toMatch(new RegExp(`^${crate} \\d`, 'm'))
  for (const name of ['hono', 'zod', 'undici', 'prom-client', '@redis/client', '@hono/node-server'])
    expect(notices).toMatch(new RegExp(`^${name} \\d`, 'm'))
  expect(notices).toContain('Permission is hereby granted, free of charge')
  expect(notices).not.toContain('proc-macro2')
})

test('it needs no other package at run time', () => {
  expect(manifest.dependencies).toBeUndefined()
  const peers = [
    ...[
      '@aws-sdk/credential-providers',
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

test('it is a module, has no side effects but the elements’, runs no script on installation, brings one program and says so', () => {
  expect(manifest).toMatchObject({
    type: 'module',
    sideEffects: ['./ui.js', './ui-worker.js'],
    engines: { node: '>=22.13' },
  })
  expect(manifest.bin).toEqual({ redrive: './cli.js' })
  expect(text('cli.js')).toMatch(/^#!\/usr\/bin\/env node\n/)
  for (const field of ['scripts', 'main', 'optionalDependencies', 'bundleDependencies']) {
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
  const nodes = ['sqlite.js', 'redis.js', 'node.js', 'index.js', 'compat-axios-retry.js']
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

test('the service is in its own files: no other entry loads a line of it, and it loads none of theirs', () => {
  const loaded = new Set(Object.keys(entries).flatMap((name) => [...reachedFrom(`${name}.js`)]))
  expect([...loaded].filter(isApart)).toEqual([])
  const own = Object.keys(serviceEntries).flatMap((name) => [...reachedFrom(`${name}.js`)])
  expect(own.filter((name) => !isApart(name))).toEqual([])
  expect(own.length).toBeGreaterThan(10)
})
