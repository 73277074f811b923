// What `scripts/setup/consumers.mjs` has installed for this half of the consumers.
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { versioned } from '../consumer.ts'
import { root } from '../pack.ts'

const wanted = join(root, '.tools', 'consumers')
if (!existsSync(join(wanted, 'node_modules'))) {
  throw new Error('Next.js, Deno and Bun are not installed: npm run test:packaging -- --all')
}

/** Projects that a framework is to find its own packages from are made in here. */
export const consumersFolder: string = realpathSync(wanted)
export const modules: string = join(consumersFolder, 'node_modules')

/** Name and version of one of them. */
export const installed = (title: string, name: string): string => versioned(title, name, modules)

/** A runtime's program, which is in the package of this machine's platform; `variable` names another. */
export function program(scope: string, file: string, variable: string): string {
  const given = process.env[variable]
  if (given !== undefined) return given
  const folder = join(modules, scope)
  const found = (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => join(folder, name, file))
    .find((path) => existsSync(path))
  if (found === undefined) throw new Error(`no ${scope} for this platform among the packages: set ${variable} to one`)
  return found
}
