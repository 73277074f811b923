// Gets a redis-server for the tests of `redrive/redis` and for the bench in which BullMQ takes part; they start servers of their
// own, and end them. Not Debian's package of that name, which would start one: it is a link to a program of redis-tools, which is
// Redis where it is called so.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../lib/paths.mjs'
import { run, StepError, step } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const linked = at('.tools', 'redis', 'redis-server')
const places = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server', linked]
const ofTools = '/usr/bin/redis-check-rdb'

async function linkDebian() {
  if (!existsSync(ofTools)) await installDebian('redis-tools')
  rmSync(linked, { force: true })
  mkdirSync(join(linked, '..'), { recursive: true })
  symlinkSync(ofTools, linked)
  const { stdout } = await run(linked, ['--version'])
  if (!stdout.startsWith('Redis server')) throw new StepError(`${linked} is no redis-server: it says ${stdout.trim()}`)
}

/** @returns {Promise<string | undefined>} its path; none where there is no Redis and none can be installed */
export async function redisServer() {
  const wanted = process.env.REDIS_PATH
  if (wanted && !existsSync(wanted)) throw new StepError(`REDIS_PATH names ${wanted}, which is not there`)
  if (wanted) return wanted
  const find = () => places.find((path) => existsSync(path))
  if (!find() && isDebianRoot()) await linkDebian()
  return find()
}

/** Leaves the path in REDIS_PATH, where the tests look for it. */
export const redisStep = () =>
  step('Redis', async () => {
    const path = await redisServer()
    if (!path) {
      throw new StepError(
        'No redis-server for the tests of redrive/redis. One of these gives one (7.0 or later):\n' +
          '  REDIS_PATH=/path/to/redis-server npm test\n' +
          '  apt-get install redis-server        (Debian, as root; it starts a service)\n' +
          '  brew install redis',
      )
    }
    process.env.REDIS_PATH = path
    return path
  })
