/** What lies in the profile of a browser where pages can put something: as it is, and made readable. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readLog } from './leveldb.ts'

export interface FoundFile {
  readonly where: string
  readonly bytes: Buffer
}

/** Cookies, the cache of responses and the history are the browser's own affair. */
const FOLDERS = ['IndexedDB', 'Local Storage', 'Session Storage', 'Service Worker', 'WebStorage', 'File System']

export function filesOf(profile: string): readonly FoundFile[] {
  const found: FoundFile[] = []
  for (const folder of FOLDERS) {
    const root = join(profile, 'Default', folder)
    for (const name of namesUnder(root)) {
      const bytes = contentOf(join(root, name))
      if (!bytes) continue
      const where = join(folder, name)
      found.push({ where, bytes })
      if (/\.log$/.test(name)) found.push({ where: `${where}, its records`, bytes: readLog(bytes) })
    }
  }
  return found
}

function namesUnder(root: string): readonly string[] {
  try {
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [] // the browser makes a folder when it needs one
    throw error
  }
}

function contentOf(path: string): Buffer | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined // gone since the folder was read
    throw error
  }
}
