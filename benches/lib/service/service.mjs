// `redrive serve` as it is deployed: processes of their own, asked over HTTP.
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../tests/servers/free-port.ts'
import { folder as pkg } from '../package.mjs'
import { Program } from './program.mjs'
import { POLICY } from './tasks.mjs'

const built = `${pkg}-service/cli.js`
export const isBuilt = existsSync(built)
const program = isBuilt ? built : fileURLToPath(new URL('../../../js/cli.ts', import.meta.url))
const LOOK_MS = 20
/** A disk up to this size is filled where that is asked for: one in memory, say, to which TMPDIR leads. */
const MOST_FILLED = 2 ** 30
/** Bytes that a full Redis has left. */
const LEFT = 2 ** 20

let names = 0

/** Stores without tasks, by name: the flags that name one, and how it ends. */
export const storesOf = (redis) => ({
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'redrive-bench-'))
    const filler = join(folder, 'filler')
    const end = async () => rmSync(folder, { recursive: true, force: true })
    /** Says whether it was: a large disk, which others need as well, is not. */
    const fill = async () => {
      const { blocks, bsize } = statfsSync(folder)
      if (blocks * bsize > MOST_FILLED) return false
      const file = openSync(filler, 'a')
      try {
        for (;;) writeSync(file, Buffer.alloc(4_096, 1))
      } catch {
        return true
      } finally {
        closeSync(file)
      }
    }
    const free = async () => rmSync(filler, { force: true })
    return { flags: ['--store', `sqlite:${join(folder, 'bench.db')}`], end, fill, free }
  },
  async Redis() {
    await redis.empty()
    const fill = async () => {
      await redis.limit(LEFT)
      return true
    }
    const end = () => redis.limit().then(() => redis.empty())
    return { flags: ['--store', redis.url, '--name', `bench-${++names}`], end, fill, free: () => redis.limit() }
  },
})

/** A process of the service that answers. `url`: where. */
async function serve(flags) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const fixed = ['serve', '--port', `${port}`, '--log-format', 'json', '--drain', '1s']
  const process = new Program(program, [...fixed, ...flags], { isProfiled: true })
  for (;;) {
    const isReady = await fetch(`${url}/readyz`).then(readEnd, () => false)
    if (isReady) return { url, process }
    // rejects with what it has said, where it has ended
    await process.usage()
    await sleep(LOOK_MS)
  }
}

async function readEnd(response) {
  await response.text()
  return response.ok
}

/** A service on a store of its own, with the policy of the bench. `roles`: one process for each. `headers` go with each question. */
export async function openService(openStore, { roles = ['all'], flags = [], headers = {} } = {}) {
  const store = await openStore()
  const all = await Promise.all(roles.map((role) => serve([...store.flags, '--role', role, ...flags])))
  const [{ url }] = all
  const call = async (method, path, json) => {
    const init = json && { body: JSON.stringify(json), headers: { ...headers, 'content-type': 'application/json' } }
    const response = await fetch(url + path, { method, headers, ...init })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  await call('POST', '/retry-policies', POLICY)
  return {
    ...{ url, call, store },
    processes: all.map(({ process }) => process),
    async close() {
      await Promise.all(all.map(({ process }) => process.stop()))
      await store.end()
    },
  }
}
