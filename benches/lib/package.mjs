// The package as built, and below its surface: the chunk that holds the scheduler and the core.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** REDRIVE_PKG measures another build, for comparing two. */
export const folder = process.env.REDRIVE_PKG ?? fileURLToPath(new URL('../../pkg', import.meta.url))

if (!existsSync(join(folder, 'index.js'))) {
  console.error(`${folder} holds no package: run \`npm run build\` first`)
  process.exit(2)
}

const load = (name) => import(pathToFileURL(join(folder, name)).href)

export const { RetryQueue } = await load('index.js')
export const { wrapFetch } = await load('fetch.js')
export const { memoryStore } = await load('memory.js')
export const { sqliteStore } = await load('sqlite.js')
