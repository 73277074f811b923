// Gets a Node that is new enough. npm has Node itself as a package per platform; this installs that package directly, since
// the package `node` needs an install script to fetch it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { StepError, step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

/** The package runs on 22.13; its builds, tests and benchmarks need a later version. */
const minimum = [22, 19]
const fallback = '24.21.0'

const isEnough = (version) => {
  const [major, minor] = version.split('.').map(Number)
  return major > minimum[0] || (major === minimum[0] && minor >= minimum[1])
}

async function install() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = `node-${platform}-${process.arch}`
  const folder = at('.tools')
  const node = join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const version = existsSync(node) ? spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout : ''
  if (isEnough(version.trim() || '0.0')) return node
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n') // else npm would look for one above
  try {
    await npm(['install', '--prefix', folder, '--no-package-lock', '--loglevel=error', `${name}@${fallback}`])
  } catch (cause) {
    throw new StepError(
      `Node ${process.versions.node} is too old: this needs ${minimum.join('.')} or newer, and npm has no package ${name}@${fallback} here.\n` +
        `Install a newer Node and run this again.\n${cause.message}`,
      { cause },
    )
  }
  return node
}

/** Starts this script again under a newer Node if this one is too old, and ends with its exit code. */
export async function nodeStep() {
  if (isEnough(process.versions.node)) {
    // so that programs which start `node` by its name get this one too
    const folder = dirname(process.execPath)
    if (process.env.PATH?.split(delimiter)[0] !== folder)
      process.env.PATH = `${folder}${delimiter}${process.env.PATH ?? ''}`
    return
  }
  let node
  await step('Node', async () => {
    node = await install()
    return `${process.versions.node} is older than ${minimum.join('.')}: using ${fallback} in .tools/`
  })
  const again = spawnSync(node, process.argv.slice(1), { stdio: 'inherit' })
  if (again.error) throw new StepError(`cannot run ${node}: ${again.error.message}`)
  process.exit(again.status ?? 1)
}
