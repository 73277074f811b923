/** Chunks that are loaded for the first time take a time of their own, which no world should see. */

import { RetryQueue } from '../../js/index.ts'
import { memoryStore } from '../../js/stores/memory.ts'

let warmed: Promise<void> | undefined

export function warm(): Promise<void> {
  warmed ??= load()
  return warmed
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
