// Gets the oldest Node that the service runs on, for the tests of its program: ours is a later one.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { StepError, step } from '../lib/steps.mjs'
import { npm } from './npm.mjs'

/** The first of `engines.node` in pkg-template/service/package.json. */
const VERSION = '22.19.0'
const folder = at('.tools', 'oldest-node')
const platform = process.platform === 'win32' ? 'win' : process.platform
const name = `node-${platform}-${process.arch}`

/** The program; NODE22_PATH, where that is set. */
export const oldestNode = () =>
  process.env.NODE22_PATH ??
  join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

export const oldestNodeStep = () =>
  step(`Node ${VERSION}`, async () => {
    if (existsSync(oldestNode())) return 'already there'
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n') // else npm would look for one above
    const words = ['install', '--prefix', folder, '--no-package-lock', '--loglevel=error', '--no-audit', '--no-fund']
    await npm([...words, `${name}@${VERSION}`]).catch((cause) => {
      const remedy = 'NODE22_PATH=/path/to/node npm test names another'
      throw new StepError(`npm has no package ${name}@${VERSION} here: ${remedy}\n${cause.message}`, { cause })
    })
  })
