// What all parts of the service bench share: a Redis of their own, a target, and stores.
import { fileURLToPath } from 'node:url'
import { openRedis } from '../redis/server.mjs'
import { Program } from './program.mjs'
import { storesOf } from './service.mjs'

const file = fileURLToPath(new URL('target.mjs', import.meta.url))

/** `down`: so many servers that always fail. */
export async function openArena(down) {
  const redis = await openRedis({ appendonly: true })
  const target = new Program(file)
  const [watched, ...others] = await target.ask('open', down)
  const originOf = (port) => `http://127.0.0.1:${port}`
  return {
    ...{ redis, target, origin: originOf(watched), down: others.map(originOf), stores: storesOf(redis) },
    async close() {
      await target.stop()
      await redis.close()
    },
  }
}
