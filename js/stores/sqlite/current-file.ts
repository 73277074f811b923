/**
 * The file that a path leads to: opened at the first use, and opened anew when the path leads to another one. What the old one
 * holds is brought along, since as long as it is open it can be read, and after that not at all ([0037]).
 */

import { renameSync } from 'node:fs'
import type { Report } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import { mend, needsMending } from '../sql/mend.ts'
import { type Connection, rollBack } from './connection.ts'
import { corrupt, isBusy, isCorrupt, isNoDatabase, unavailable } from './errors.ts'
import { acceptSize, clearCompanions, type FileState, stateOf } from './file-state.ts'
import { isForEveryone, isSharedSound, mendShared, turnLanes } from './lineup.ts'
import { bringIn, type Contents, contentsOf, emptyOut } from './move.ts'
import { type Opened, openDamaged, openDatabase } from './open.ts'
import { isSmall, isSound, isSoundOnDisk, rebuildIndexes } from './repair.ts'
import { tokensIn } from './tokens.ts'

/** Damage that comes back sooner is not mended by what mends it. */
const REPAIR_AGAIN_MS = 60_000
/** After a repair that found nothing damaged. */
const TRUST_MS = 3_600_000
/** Between looks at whole tables. */
const LOOK_AGAIN_MS = 30_000

interface Moved {
  readonly tasks: number
  /** Rows that could not be brought along, and rows that could not be read, as in `Contents`. */
  readonly refused: number
  readonly unread: number | undefined
  /** Those of the tasks that cannot be read as what they are. */
  readonly aside: number
}

/** Store objects of this process, by the file that they have open: they share what SQLite knows of it. */
const holders = new Map<string, Set<CurrentFile>>()

export class CurrentFile {
  readonly #path: string
  readonly #clock: Clock
  readonly #report: Report
  readonly #everyone: boolean
  #held: Opened | undefined
  /** Read out of a file that is closed by now, and not in the one of now yet. */
  #homeless: Contents | undefined
  #staysBehind = false
  #mended = 0
  #repairAt = Number.NEGATIVE_INFINITY
  /** When the tables may be looked at again, and whether there was a reason to before that. */
  #lookAt = Number.NEGATIVE_INFINITY
  #hasToLook = false

  constructor(path: string, clock: Clock, report: Report, everyone: boolean) {
    this.#path = path
    this.#clock = clock
    this.#report = report
    this.#everyone = everyone
  }

  /** The connection, if there is one, whatever has become of the file: `isCurrent` says whether what it answers counts. */
  get open(): Connection | undefined {
    return this.#held?.database
  }

  /** Whether the path leads to what is open; where nothing is, that is for the next use to say. */
  get isCurrent(): boolean {
    if (this.#homeless) return false
    return !this.#held || stateOf(this.#held.file) === 'same'
  }

  /** Whether the last `connect` gave a file that the path does not lead to, since there can be no other. */
  get staysBehind(): boolean {
    return this.#staysBehind
  }

  /**
   * A connection to the file that the path leads to. Where there can be none, and the old one is still open: that, so that
   * what it holds is still delivered, or an error if `mustLast`, since nothing that is put there lasts longer than the process.
   */
  connect(mustLast: boolean): Connection {
    const held = this.#held
    this.#staysBehind = false
    if (!held || this.#homeless) return this.#openNow()
    const state = stateOf(held.file)
    if (state === 'same') return held.database
    try {
      return this.#follow(held, state)
    } catch (error) {
      if (mustLast || isBusy(error) || this.#held !== held) throw error
      this.#staysBehind = true
      return held.database
    }
  }

  /**
   * Mends a file in which SQLite has found damage: its indexes are built anew, or what can be read of it goes into a new file, and
   * the damaged one is kept beside it. Says whether it was done: not twice within a minute.
   */
  repair(): boolean {
    const now = this.#clock.monotonic()
    if (now < this.#repairAt) return false
    const held = this.#held ?? this.#openForRepair()
    if (!held) {
      this.#repairAt = now + REPAIR_AGAIN_MS
      this.#putAside(this.#keep(openDamaged(this.#path)))
      return true
    }
    if (stateOf(held.file) !== 'same') return false
    const rebuilt = rebuildIndexes(held.database, this.#clock.now(), this.#everyone)
    const { wasSound = false, aside = 0 } = rebuilt ?? {}
    this.#repairAt = now + (wasSound ? TRUST_MS : REPAIR_AGAIN_MS)
    this.#mended += aside
    if (!rebuilt) this.#putAside(held)
    else this.close() // and is looked at anew when it is opened
    if (rebuilt && !(wasSound && aside === 0)) this.#reportRebuilt(aside)
    return true
  }

  /** `undefined`: SQLite cannot say which tables there are. */
  #openForRepair(): Opened | undefined {
    try {
      return this.#keep(openDatabase(this.#path, this.#everyone))
    } catch (error) {
      if (!isCorrupt(error)) throw error
      return undefined
    }
  }

  /** Whether whole tables may be looked at: now and then. Where not, and nothing else will give a reason to (`isLast`), `hasToLook` says when it is time. */
  mayLook(isLast: boolean): boolean {
    const now = this.#clock.monotonic()
    const isTime = now >= this.#lookAt
    this.#hasToLook = isLast && !isTime
    if (isTime) this.#lookAt = now + LOOK_AGAIN_MS
    return isTime
  }

  get hasToLook(): boolean {
    return this.#hasToLook && this.#clock.monotonic() >= this.#lookAt
  }

  /** Something is here and was not found: throws what SQLite throws of damage that it finds itself, unless the file was repaired a moment ago. */
  suspectDamage(): void {
    if (this.isCurrent && this.#clock.monotonic() >= this.#repairAt) throw corrupt()
  }

  /** How many tasks were put aside when the tables were looked at; from then on 0. */
  takeMended(): number {
    const mended = this.#mended
    this.#mended = 0
    return mended
  }

  /** The next use opens it again: what went wrong may be over by then. One that is not the path's any more stays open, for what it holds. */
  forget(): void {
    if (this.isCurrent) this.close()
  }

  close(): void {
    const held = this.#held
    if (!held) return
    this.#held = undefined
    leave(held.file.main, this)
    held.database.close()
  }

  #follow(held: Opened, state: Exclude<FileState, 'same'>): Connection {
    if (state === 'replaced') this.#reportMoved(this.#moveOut(held), 'was deleted, moved or replaced')
    else if (state !== 'shrunk') this.#leaveLog(held, state)
    else if (isSoundOnDisk(this.#path)) acceptSize(held.file)
    else this.#putAside(held)
    return this.#openNow()
  }

  #openNow(): Connection {
    if (this.#homeless) this.#house(this.#homeless)
    return (this.#held ?? this.#keep(this.#openSound())).database
  }

  /**
   * The log that is beside the file now may be that of another one, which had its path for a moment: SQLite takes it for this
   * file's. So what came of it is looked at as a whole before anything is put in.
   */
  #house(homeless: Contents): void {
    this.close()
    const held = this.#keep(openDatabase(this.#path, this.#everyone))
    if (!isSound(held.database)) this.#putAside(held)
    this.close()
    const moved = this.#openWith(homeless)
    this.#homeless = undefined
    this.#reportMoved(moved, 'has lost its log')
  }

  #reportMoved({ tasks, refused, unread }: Moved, how: string): void {
    const lost = lostOf(unread === undefined ? undefined : refused + unread, ' be brought along')
    const message = `the file '${this.#path}' ${how} while it was in use: its ${tasks} tasks were brought into the one that is there now${lost}. Do not touch it, '-wal' or '-shm' while a process uses it; for a backup use VACUUM INTO`
    this.#report('storage_replaced', message)
  }

  #reportRebuilt(aside: number): void {
    const message = `the file '${this.#path}' was damaged: its indexes were built anew from its tables${putAside(aside)}; look at the disk`
    this.#report('storage_damaged', message)
  }

  /** Other processes that have the damaged file open find that the path leads elsewhere, and what they bring is there already. */
  #putAside(held: Opened): void {
    const aside = `${this.#path}.damaged-${this.#clock.now()}`
    try {
      renameSync(this.#path, aside)
    } catch (error) {
      throw unavailable(this.#path, 'it is damaged, and cannot be put aside; restore it from a backup', error)
    }
    const { tasks, refused, unread, aside: spoilt } = this.#moveOut(held, false)
    const lost = lostOf(unread === undefined ? undefined : refused + unread)
    const message = `the file '${this.#path}' was damaged: ${tasks - refused} of its tasks were found${lost}${putAside(spoilt)}. They are in a new one; the damaged one is '${aside}'; look at the disk`
    this.#report('storage_damaged', message)
  }

  /** Moves everything from a file that the path does not lead to any more into the one of now, which is made if it is not there. */
  #moveOut(old: Opened, empties = true): Moved {
    // where it was only moved it is whole without its log, which its successor would take for its own; of one that is damaged the log is read
    if (empties) old.database.cutLog()
    beginIfSound(old.database)
    try {
      const contents = contentsOf(old.database)
      clearCompanions(old.file)
      const moved = this.#openWith(contents)
      try {
        // another process that has it open finds nothing to move; nothing is erased of a file that has come back to the path
        const erases = empties && this.isCurrent
        if (erases) emptyOut(old.database)
        old.database.run('COMMIT')
        if (erases || !empties) old.database.cutLog()
      } catch {
        // it may move them too, which changes nothing while they are here
      }
      leave(old.file.main, this)
      old.database.close()
      return moved
    } catch (error) {
      rollBack(old.database)
      throw error
    }
  }

  /**
   * The file is the same, and others cannot see what its old log has. It is written into the file, unless another process has
   * begun a new log: then the file is not as this log takes it to be, and tasks that are missing are put in one by one.
   */
  #leaveLog(old: Opened, state: 'log lost' | 'log replaced'): void {
    if (state === 'log lost') old.database.cutLog()
    this.#homeless = contentsOf(old.database)
    // SQLite has one view of a file in a process: all let go of the old one before any takes up the new
    for (const holder of holders.get(old.file.main) ?? []) holder.close()
  }

  /** Opens the file that the path leads to, and puts in what it has not. */
  #openWith(contents: Contents): Moved {
    const opened = this.#openMended()
    const { database } = opened
    try {
      database.waitForDisk(true)
      database.run('BEGIN IMMEDIATE')
      const { refused, aside } = bringIn(database, contents, this.#clock.now(), this.#everyone)
      database.run('COMMIT')
      database.waitForDisk(false)
      this.#mended += aside
      this.#keep(opened)
      return { tasks: contents.tasks.length, refused, unread: contents.unread, aside }
    } catch (error) {
      database.close()
      throw error
    }
  }

  #keep(held: Opened): Opened {
    this.#held = held
    const { main } = held.file
    holders.set(main, (holders.get(main) ?? new Set()).add(this))
    return held
  }

  /** SQLite does not stumble over each index that does not say what its table says: one look, where it costs little. */
  #openSound(): Opened {
    const opened = this.#openMended()
    try {
      if (isSmall(opened.database) && !isSound(opened.database)) this.suspectDamage()
      return opened
    } catch (error) {
      opened.database.close()
      throw error
    }
  }

  /** The tables that other code has changed are put right before anything goes by them. */
  #openMended(): Opened {
    const opened = openDatabase(this.#path, this.#everyone)
    const { database } = opened
    try {
      const now = this.#clock.now()
      const everyone = this.#everyone
      if (isSharedSound(database, everyone, now) && !needsMending(database, now, everyone)) return opened
      database.run('BEGIN IMMEDIATE')
      try {
        if (isForEveryone(database, everyone) !== everyone) turnLanes(database, everyone, this.#path)
        const tokens = tokensIn(database, now)
        // another process may have been in the middle of a change, or first
        if (needsMending(database, now, everyone)) {
          // tasks and indexes may not agree either
          const wasSound = isSound(database)
          database.exec('REINDEX')
          const aside = mend(database, now, everyone)
          this.#mended += aside
          if (!wasSound) this.#reportRebuilt(aside)
        }
        mendShared(database, everyone, tokens)
        database.run('COMMIT')
      } catch (error) {
        rollBack(database)
        throw error
      }
      return opened
    } catch (error) {
      database.close()
      throw error
    }
  }
}

const putAside = (tasks: number): string => (tasks > 0 ? `, and put aside since they cannot be read: ${tasks}` : '')

/** One that is cut short may have no page left to be locked by. */
function beginIfSound(database: Connection): void {
  try {
    database.run('BEGIN IMMEDIATE')
  } catch (error) {
    if (!isCorrupt(error) && !isNoDatabase(error)) throw error
  }
}

/** `most`: how many at most; `undefined`: what counts them is among them. */
function lostOf(most: number | undefined, how = ''): string {
  if (most === undefined) return ', how many could not is unknown'
  return most > 0 ? `, at most ${most} could not${how}` : ''
}

function leave(main: string, file: CurrentFile): void {
  const others = holders.get(main)
  others?.delete(file)
  if (others?.size === 0) holders.delete(main)
}
