// Makes the manifests of the three packages: their version is the crate's, and their addresses are made from one, the repository's.
import { readFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { StepError } from '../lib/steps.mjs'
import { required } from './entries.mjs'

/** Address of the repository: `REDRIVE_REPOSITORY`, which a workflow sets to its own, else `repository` of the workspace's package.json. */
export function repository({ REDRIVE_REPOSITORY } = process.env) {
  const address = REDRIVE_REPOSITORY || JSON.parse(readFileSync(at('package.json'), 'utf8')).repository
  if (/^https:\/\/[^\s/]+\/[^\s/]+\/[^\s/]+$/.test(address)) return address
  throw new StepError(`repository: expected https://HOST/OWNER/NAME, got '${address}'`)
}

function version() {
  const match = /^\[package\][^[]*?^version = "([^"]+)"/ms.exec(readFileSync(at('Cargo.toml'), 'utf8'))
  if (!match) throw new StepError('Cargo.toml has no version in [package]')
  return match[1]
}

/**
 * Adds `require` to an entry that has a file for it. It is for Jest: Node, Bun and the bundlers, which know `module-sync`, `bun` or `module`, get the
 * ES module by `require`, too, so that a program has one copy of each class.
 */
function withRequire([path, conditions]) {
  const [name] = /[^/]+(?=\.js$)/.exec(conditions.default ?? '') ?? []
  const { types, workerd, 'edge-light': edge, ...module } = conditions
  const own = name?.replace(/\.page$/, '')
  if (!(own in required)) return [path, conditions]
  const esm = Object.keys(module).length === 1 ? module.default : module
  const require = { 'module-sync': esm, module: esm, bun: esm, default: `./${own}.cjs` }
  return [path, { types, workerd, 'edge-light': edge, require, ...module }]
}

/** `name`: the folder of its template. What stands on the queue asks for the very version that it was built with, whose `redrive/internal` it uses. */
export function manifest(name = 'redrive', env = process.env) {
  const address = repository(env)
  const addresses = {
    homepage: `${address}#readme`,
    repository: { type: 'git', url: `git+${address}.git` },
    bugs: { url: `${address}/issues` },
  }
  const template = JSON.parse(readFileSync(at('pkg-template', name, 'package.json'), 'utf8'))
  const { name: full, version: _, description, keywords, exports, dependencies, ...rest } = template
  const head = { name: full, version: version(), description, keywords, ...addresses }
  if (name === 'redrive') {
    return { ...head, exports: Object.fromEntries(Object.entries(exports).map(withRequire)), ...rest }
  }
  return { ...head, exports, ...rest, dependencies: { ...dependencies, redrive: version() } }
}
