/** Chunks that are loaded for the first time, and a server that starts, take a time of their own, which no world should see. */

import { RetryQueue } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'
import { warmRedis } from './redis.ts'
import type { StoreKind } from './scenario.ts'

let warmed: Promise<void> | undefined

export async function warm(kind: StoreKind): Promise<void> {
  warmed ??= load()
  await warmed
  if (kind === 'redis') await warmRedis()
}

async function load(): Promise<void> {
  const queue = new RetryQueue({
    store: memoryStore(),
    principal: null,
    preload: 'never',
    fetch: async () => new Response(),
    seed: 1n,
  })
  await queue.enqueue('https://a.test/', { method: 'POST', body: 'warm' })
  await queue.close()
}
