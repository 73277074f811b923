/** The package as users get it where it holds this store; else its sources, all of them, so that there is one of each class. */

import { existsSync } from 'node:fs'
import { builtPackage } from '../built.ts'

type Redis = typeof import('../../../js/stores/redis.ts')
type Index = typeof import('../../../js/index.ts')

export async function redisPackage(): Promise<Pick<Index, 'RetryQueue'> & Redis> {
  const built = new URL('../../../pkg/redis.js', import.meta.url)
  const isBuilt = existsSync(built)
  const { RetryQueue } = isBuilt ? await builtPackage() : await import('../../../js/index.ts')
  const { redisStore }: Redis = await import(isBuilt ? built.href : '../../../js/stores/redis.ts')
  return { RetryQueue, redisStore }
}
