/**
 * Bodies as files in a folder, for one host: `<folder>/<16 hex digits>/<uuid>`. A file has its name only once it is whole and on the disk,
 * so a process that dies leaves a part that nothing opens, and that the next clean-up deletes.
 */

import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from 'redrive'
import { type BodyStore, BodyStoreError, codeOf, Meter } from './body-store.ts'

/** Names that are made here: nothing else in the folder is opened or deleted. */
const KEY = /^[0-9a-f]{16}\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const FOLDER = /^[0-9a-f]{16}$/
const PART = '.part'
/** A put takes less than this. */
const PART_MS = 86_400_000

export function fileBodies(folder: string, clock: Clock): BodyStore {
  const pathOf = (key: string): string => {
    if (!KEY.test(key)) throw new BodyStoreError('a body whose name is none of this folder')
    return join(folder, key)
  }
  return {
    shown: `file:${folder}`,
    async put(key, body, { bytes }) {
      const path = pathOf(key)
      const meter = new Meter()
      await failing(() => mkdir(dirname(path), { recursive: true, mode: 0o700 }))
      const file = await failing(() => open(path + PART, 'wx', 0o600))
      try {
        for await (const part of meter.through(body)) await failing(() => writeAll(file, part))
        if (meter.bytes !== bytes)
          throw new BodyStoreError(`a body of ${meter.bytes} bytes, of which ${bytes} were announced`)
        await failing(() => file.sync())
        await failing(() => file.close())
        await failing(() => rename(path + PART, path))
        await failing(() => syncFolder(dirname(path)))
      } catch (error) {
        await file.close().catch(() => {}) // it is closed already, or the disk is gone
        await rm(path + PART, { force: true }).catch(() => {}) // the next sweep does
        throw error
      }
      return { ref: key, sha256: meter.sha256() }
    },
    async open(ref) {
      const path = pathOf(ref)
      const file = await failing(() => orAbsent(open(path, 'r')))
      if (!file) return undefined
      const { size } = await failing(() => file.stat())
      return { body: createReadStream(path, { fd: file, highWaterMark: 256 * 1024 }), bytes: size }
    },
    has: async (ref) => (await failing(() => orAbsent(stat(pathOf(ref))))) !== undefined,
    delete: (ref) => failing(() => rm(pathOf(ref), { force: true })),
    async sweep(ms) {
      const now = clock.now()
      const folders = (await failing(() => orAbsent(readdir(folder)))) ?? []
      let count = 0
      for (const name of folders.filter((each) => FOLDER.test(each))) {
        for (const file of await failing(() => readdir(join(folder, name)))) {
          const isPart = file.endsWith(PART)
          if (!KEY.test(`${name}/${isPart ? file.slice(0, -PART.length) : file}`)) continue
          const path = join(folder, name, file)
          const found = await failing(() => orAbsent(stat(path)))
          if (!found || now - found.mtimeMs < (isPart ? Math.min(ms, PART_MS) : ms)) continue
          await failing(() => rm(path, { force: true }))
          count++
        }
      }
      return count
    },
    close: async () => {},
  }
}

async function writeAll(file: FileHandle, part: Uint8Array): Promise<void> {
  for (let at = 0; at < part.byteLength; ) at += (await file.write(part, at)).bytesWritten
}

/** A name that is not on the disk is lost with the power. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const orAbsent = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })

/** Calls of the file system, whose errors name paths. */
async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof BodyStoreError
      ? error
      : new BodyStoreError(`the store of bodies: ${codeOf(error)}`, { cause: error })
  }
}
