// Finds or installs a redis-server for the bench in which BullMQ takes part. The bench starts one of its own, and ends it.
import { existsSync } from 'node:fs'
import { StepError } from '../lib/steps.mjs'
import { installDebian, isDebianRoot } from './debian.mjs'

const places = ['/usr/bin/redis-server', '/usr/local/bin/redis-server', '/opt/homebrew/bin/redis-server']

/** @returns {Promise<string | undefined>} its path; none where there is no Redis and none can be installed */
export async function redisServer() {
  const wanted = process.env.REDIS_PATH
  if (wanted && !existsSync(wanted)) throw new StepError(`REDIS_PATH names ${wanted}, which is not there`)
  if (wanted) return wanted
  const find = () => places.find((path) => existsSync(path))
  if (!find() && isDebianRoot()) await installDebian('redis-server').catch(() => {})
  return find()
}
