import { expect, test } from 'vitest'
import { instantiate } from '../../js/core/file.ts'
import { assemble } from '../../js/queue/assemble.ts'
import { RetryQueue } from '../../js/queue/queue.ts'
import { fakeClock, scriptedServer } from '../../js/testing.ts'
import { chunks } from './chunks.ts'
import { forApi, ORDERS, watch } from './setup.ts'

test.each(['tells_secret', 'url_secrets'])(
  'S18 S22 a core that traps in %s around a hook still answers the caller',
  async (name) => {
    const trapped = async () => {
      const engine = await instantiate()
      const trap = () => {
        throw new WebAssembly.RuntimeError('unreachable')
      }
      return { ...engine, glue: { ...engine.glue, [name]: trap } }
    }
    const clock = fakeClock()
    const server = scriptedServer({ clock })
    const credentials = () => {
      throw new Error('no token')
    }
    const load = async () => assemble(trapped, chunks)
    const queue = new RetryQueue({ clock, fetch: server.fetch, seed: 1n, credentials: forApi(credentials) }, load)
    await queue.ready
    server.reply(503)
    const answer = watch(queue.fetch(ORDERS))
    await clock.advance(2_000)
    expect(answer.value?.status).toBe(503)
  },
)
