/**
 * Locks that the operating system releases when their process ends, however it ends: each is a transaction held open in an
 * empty file of its own, in the folder `<path>-owners`. A file whose lock can be had belongs to a process that is gone.
 *
 * A lock is taken once, right after its file was made: a file that has been found free stays so. A process that is stopped
 * keeps its locks. Locks reach as far as one kernel, so a file names the one it was made under, and those of another say nothing.
 */

import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { DAY_MS } from '../../platform/clock.ts'
import { Connection } from './connection.ts'
import { isBusy } from './errors.ts'
import { isRoot } from './open.ts'

/** A process that looks at a file holds it for microseconds. */
const TAKE_TIMEOUT_MS = 50
const TAKE_TRIES = 3
/** `<kernel>-<random>-<owner>`: two processes may have one owner by mistake. */
const MARK_LENGTH = 8
const PREFIX_LENGTH = 2 * (MARK_LENGTH + 1)
/** File systems allow 255 bytes. */
const LONGEST_NAME = 200

export class OwnerLocks {
  readonly #store: string
  #whole: string | undefined
  readonly #own = new Map<string, { readonly file: string; readonly connection: Connection }>()

  /** `path`: the store's file. */
  constructor(path: string) {
    this.#store = path
  }

  /** Beside the file itself, as SQLite's own files are, whatever links lead there. */
  get #folder(): string {
    if (this.#whole === undefined) this.#resolve()
    return `${this.#whole ?? this.#store}-owners`
  }

  #resolve(): void {
    quietly(() => (this.#whole = realpathSync(this.#store)))
  }

  /** Whether its lock is held where others look for it: its file, or the folder, may have been taken away. */
  isHeld(owner: string): boolean {
    const own = this.#own.get(owner)
    return own !== undefined && dirname(own.file) === this.#folder && existsSync(own.file)
  }

  get owners(): readonly string[] {
    return [...this.#own.keys()]
  }

  /** Takes the lock of `owner`, once the store's file is there; says whether it is held. */
  take(owner: string): boolean {
    if (this.isHeld(owner)) return true
    this.drop(owner)
    this.#resolve()
    const name = encodeURIComponent(owner)
    if (name.length > LONGEST_NAME) return false
    try {
      this.#makeFolder()
      for (let tries = 1; tries <= TAKE_TRIES; tries++) {
        const file = join(this.#folder, `${kernelMark()}-${mark(randomBytes(MARK_LENGTH))}-${name}`)
        const connection = this.#lock(file)
        if (!connection) continue
        this.#own.set(owner, { file, connection })
        return true
      }
    } catch {
      // a folder that cannot be written, say: nothing tells others of the end of this process but the end of its leases
    }
    return false
  }

  drop(owner: string): void {
    const own = this.#own.get(owner)
    if (!own) return
    this.#own.delete(owner)
    removeFile(own.file, () => own.connection.close())
  }

  /** Removes the folder, if no process has a file in it. */
  removeFolder(): void {
    quietly(() => rmdirSync(this.#folder))
  }

  /** Owners whose process is gone, each with its files, but for those that are `known`. */
  gone(known: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
    const alive = new Set(this.#own.keys())
    const gone = new Map<string, string[]>()
    this.#resolve()
    for (const name of this.#names()) {
      if (!name.startsWith(`${kernelMark()}-`)) continue
      const owner = ownerOf(name)
      const file = join(this.#folder, name)
      if (owner === undefined || alive.has(owner) || known.has(file)) continue
      if (isFree(file)) gone.set(owner, [...(gone.get(owner) ?? []), file])
      else alive.add(owner)
    }
    for (const owner of alive) gone.delete(owner)
    return gone
  }

  /** Removes files that were found free. */
  remove(files: readonly string[]): void {
    for (const file of files) removeFree(file)
  }

  /** Removes files that were left behind under another kernel: most likely this machine's, before it was started anew. */
  removeForeign(now: number): void {
    for (const name of this.#names()) {
      if (name.startsWith(`${kernelMark()}-`)) continue
      const file = join(this.#folder, name)
      quietly(() => {
        if (now - statSync(file).mtimeMs > DAY_MS) removeFree(file)
      })
    }
  }

  /** `undefined`: another process was looking at it, or has removed it as left behind. */
  #lock(file: string): Connection | undefined {
    const { mode, uid, gid } = statSync(this.#store)
    const made = openSync(file, 'wx', mode & 0o660)
    quietly(() => fchmodSync(made, mode & 0o660))
    if (isRoot()) quietly(() => fchownSync(made, uid, gid))
    // from here on only SQLite opens it: any other `close` in this process would let the lock go
    closeSync(made)
    let connection: Connection | undefined
    try {
      connection = new Connection(file, { readOnly: false })
      // an empty database gets its first page with its first lock: in memory, and no journal beside it
      connection.exec(`PRAGMA busy_timeout = ${TAKE_TIMEOUT_MS}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`)
      if (existsSync(file)) return connection
    } catch (error) {
      connection?.close()
      quietly(() => unlinkSync(file))
      if (!isBusy(error)) throw error
      return undefined
    }
    connection.close()
    return undefined
  }

  /** With the rights of the store's file, and where root makes it with its owner, whose processes would be locked out. One that another user could put files into is not used. */
  #makeFolder(): void {
    const { mode, uid, gid } = statSync(this.#store)
    const rights = (mode & 0o660) | ((mode & 0o440) >> 2)
    try {
      mkdirSync(this.#folder, rights)
      quietly(() => chmodSync(this.#folder, rights))
    } catch {
      // it is there, or cannot be made
    }
    const folder = lstatSync(this.#folder)
    if (isRoot() && folder.isDirectory() && folder.uid === 0 && uid !== 0)
      quietly(() => lchownSync(this.#folder, uid, gid))
    const isSafe = folder.isDirectory() && (folder.mode & 0o002) === 0
    const isOurs = folder.uid === uid || folder.uid === process.getuid?.()
    if (!isSafe || !isOurs) throw new Error('not our own folder')
  }

  #names(): readonly string[] {
    try {
      return readdirSync(this.#folder)
    } catch {
      return []
    }
  }
}

/** Whether its lock can be had. A file that cannot be opened says nothing. */
function isFree(file: string): boolean {
  return withShared(file, () => true) ?? false
}

/** Runs `work` with the lock shared, which keeps others from taking it; `undefined`: another process holds it. */
function withShared<T>(file: string, work: () => T): T | undefined {
  let connection: Connection | undefined
  try {
    connection = new Connection(file, { readOnly: true })
    connection.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    return work()
  } catch {
    return undefined
  } finally {
    connection?.close()
  }
}

/** A process that has just made it, and has not locked it yet, finds it removed and makes another. */
function removeFree(file: string): void {
  const isRemoved = withShared(file, () => quietly(() => unlinkSync(file)))
  if (isRemoved === false) quietly(() => unlinkSync(file))
}

/** Removes a file that is open here. Windows removes none that is. */
function removeFile(file: string, close: () => void): void {
  const isRemoved = quietly(() => unlinkSync(file))
  close()
  if (!isRemoved) quietly(() => unlinkSync(file))
}

function ownerOf(name: string): string | undefined {
  try {
    return name.length > PREFIX_LENGTH ? decodeURIComponent(name.slice(PREFIX_LENGTH)) : undefined
  } catch {
    return undefined // no file of ours
  }
}

const mark = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').slice(0, MARK_LENGTH)

let ownKernel: string | undefined

/** Names the kernel that this process runs under: containers on one have it in common, virtual machines have not. */
function kernelMark(): string {
  ownKernel ??= mark(createHash('sha256').update(kernelName()).digest())
  return ownKernel
}

function kernelName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
  } catch {
    // not on Linux
  }
  try {
    return `${process.platform} ${hostname()}`
  } catch {
    return randomBytes(MARK_LENGTH).toString('hex') // a runtime that does not tell: no lock of others says anything
  }
}

/** Whether `act` could be done. */
function quietly(act: () => void): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}
