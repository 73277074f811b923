// The server and, where there is one, a Redis: processes that stand while the contestants come and go.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisServer } from '../../../scripts/setup/redis.mjs'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

export async function openArena() {
  const server = fork(here('server.mjs'), { execArgv: [] })
  const [{ port }] = await once(server, 'message')
  const redis = await openRedis()
  const ask = async (order) => {
    server.send(order)
    const [answer] = await once(server, 'message')
    return answer
  }
  return {
    redisPort: redis?.port,
    /** One contestant, all calls. */
    async run({ name, alike, calls, seed, failShare, awayMs }) {
      await ask({ world: { seed, failShare, awayMs, awayAfter: Math.ceil(calls / 4) } })
      const given = { name, alike, calls, seed, url: `http://127.0.0.1:${port}`, redisPort: redis?.port }
      const client = fork(here('client.mjs'), [JSON.stringify(given)], { execArgv: ['--no-warnings'] })
      const gone = once(client, 'exit')
      const failed = gone.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)))
      failed.catch(() => {})
      const [result] = await Promise.race([once(client, 'message'), failed])
      await gone
      const { mostInFlight } = await ask({})
      return { ...result, atOnce: mostInFlight }
    },
    close() {
      server.disconnect()
      redis?.close()
    },
  }
}

/** A port that was free a moment ago. */
async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  return port
}

async function openRedis() {
  const program = await redisServer()
  if (!program) return undefined
  const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), 'drain-redis-'))]
  const options = { bind: '127.0.0.1', port, dir: folder, save: '', appendonly: 'no' }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const redis = spawn(program, words, { stdio: 'ignore' })
  const end = () => {
    redis.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  // by itself it would stay
  process.once('exit', end)
  for (const signal of ['SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  return { port, close: end }
}
