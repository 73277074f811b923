/**
 * The file of a store, asked in transactions, each of them synchronous. Nothing it knows outlives one of them but the prepared
 * statements, since other processes read and write the same file.
 */

import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { ENDED_BYTES, type Hint, type Report, type StoreTerms, SWEEP } from '../../api/store.ts'
import { StorageFullError } from '../../api/task-errors.ts'
import { type Clock, systemClock } from '../../platform/clock.ts'
import { giveWay } from '../engine/sweep.ts'
import type { LineupOf } from '../sql/transaction.ts'
import { type Connection, rollBack } from './connection.ts'
import { CurrentFile } from './current-file.ts'
import { DiskReserve } from './disk-reserve.ts'
import { isBusy, isCorrupt, isFull, isUnusable, translated, unsynced } from './errors.ts'
import { Line } from './line.ts'
import { lineupIn, refuseOtherLine } from './lineup.ts'
import { keepLog, refuseNewer } from './open.ts'
import { FileClock, FileTransaction } from './transaction.ts'

type Listener = (hint: Hint) => void

/** Remains of what was deleted stay no longer than this, while the file is in use. */
const ERASE_MS = 60_000
/** A larger file that all share is written anew when it is closed: one's purge would hold up the others for as long as a copy of it takes, some 8 ms a MiB. */
const MOST_REWRITTEN = 4 * 2 ** 20

/** So often at most others give way to one write. */
const MOST_GIVES = 16

const GOES_ON = 'what is stored goes on for a while in room that was kept for it; make room'

interface Urgency {
  /** Takes what is new: `write` resolves when it is on the disk, not only with the system, and it gets nothing of the reserve. */
  readonly durable?: boolean
  /** Stores little, which says how all else goes on: it gets of the reserve what it needs. */
  readonly arranges?: boolean
  /** Its deletions were asked for: nothing is left of what it deletes. */
  readonly erases?: boolean
}

interface Transacted<T> {
  readonly result: T
  readonly hints: FileTransaction['hints']
}

export class StoreFile {
  /** The path as it was given: a folder on the way may be a link that comes to lead elsewhere. */
  readonly path: string
  /** By which store objects of this process find each other. */
  readonly #name: string
  terms: StoreTerms
  /** The lanes of all principals stand in one line. */
  readonly everyone: boolean
  /** Reports that came before there was a listener: a file may be mended by the first question, and a queue listens later. */
  #unheard: Parameters<Report>[] = []
  #report: Report = (...report) => this.#unheard.push(report)
  readonly #wallClock: Clock
  readonly #clock: FileClock
  readonly #line = new Line()
  readonly #file: CurrentFile
  readonly #reserve: DiskReserve
  /** The disk was, when it was last written; the log is written over, and not cut, until there is room. */
  #isFull = false
  /** New rows had little room left, when the last of them were written. */
  #isScarce = false
  /** A sync has failed: what is missing in the log may break off all that comes after it, and no later sync says so. */
  #hasGap = false
  /** The log beside the file may hold what has been deleted, by a process before this one too. */
  #remains = true
  /** A user has asked for a deletion since the file was written anew. */
  #hasCopies = false
  #hasRewritten = false
  #erasedAt: number
  /** Rises with what other connections write. */
  #version: number | undefined

  constructor(path: string, clock: Clock, terms: StoreTerms, everyone = false) {
    this.path = resolve(path)
    this.#name = fileName(this.path)
    this.#wallClock = clock
    this.#clock = new FileClock(clock)
    this.#erasedAt = clock.monotonic()
    this.terms = terms
    this.everyone = everyone
    this.#reserve = new DiskReserve(this.path)
    this.#file = new CurrentFile(this.path, clock, (...report) => this.#report(...report), everyone)
  }

  hear(report: Report): void {
    this.#report = report
    for (const unheard of this.#unheard.splice(0)) report(...unheard)
  }

  /**
   * Needs no turn of its own: a file that is being written can be read. What was read counts if the path still leads to that file
   * afterwards: another process may have moved everything into its successor, and a task that is missing would look purged.
   */
  async read<T>(work: (database: Connection) => T): Promise<T> {
    return this.#read((database) => {
      const answer = work(database)
      // another process may have filled the file in the other way since it was opened
      refuseOtherLine(database, this.everyone, this.path)
      return answer
    })
  }

  async #read<T>(work: (database: Connection) => T): Promise<T> {
    try {
      const { open } = this.#file
      if (open) {
        const answer = work(open)
        if (this.#file.isCurrent) return answer
      }
    } catch (error) {
      if (!isBusy(error) && !isCorrupt(error)) throw this.#failed(error)
    }
    return this.#run(() => this.#readCurrent(work))
  }

  /** One transaction, and then what it changed is reported. */
  async write<T>(work: (tx: FileTransaction) => T, urgency: Urgency = {}): Promise<T> {
    const result = await this.#written(work, urgency)
    if (urgency.durable) await this.lasts()
    return result
  }

  /** Resolves once all that has been written is on the disk, in a file that the path leads to. */
  async lasts(): Promise<void> {
    const database = this.#file.open ?? (await this.#run(() => this.#file.connect(true)))
    try {
      await database.synced(this.#wallClock !== systemClock)
    } catch (error) {
      this.#hasGap = true
      throw this.#failed(unsynced(error))
    }
    // nothing is said to last that is in a file without a path
    if (!this.#file.isCurrent) await this.#run(() => this.#file.connect(true))
  }

  async #written<T>(work: (tx: FileTransaction) => T, urgency: Urgency): Promise<T> {
    const { durable = false, arranges = false } = urgency
    const { result } = await this.#run(() => {
      for (;;) {
        const done = this.#writeOnce(work, urgency)
        if (done) return done
      }
    }, durable && !arranges)
    return result
  }

  /**
   * Writes something new, so many bytes of it with what keeps them, which is on the disk once `lasts` resolves. Where there is no room, or little,
   * tasks that have succeeded or were cancelled give way.
   */
  async writeNew<T>(work: (tx: FileTransaction) => T, bytes: number): Promise<T> {
    if (this.#isScarce) await this.#giveWay(Math.ceil((2 * bytes) / ENDED_BYTES))
    for (let tries = 1; ; tries++) {
      try {
        return await this.#written(work, { durable: true })
      } catch (error) {
        if (!(error instanceof StorageFullError) || tries > MOST_GIVES || (await this.#giveWay(16 * 2 ** tries)) === 0)
          throw error
      }
    }
  }

  /** How many have. None, where even that finds no room. */
  async #giveWay(count: number): Promise<number> {
    try {
      return await this.write((tx) => giveWay(tx, Math.min(count, SWEEP)))
    } catch (error) {
      if (error instanceof StorageFullError) return 0
      throw error
    }
  }

  /** Whether another connection has written, the clock was set back, or the path leads elsewhere, since this was asked last. */
  async hasChanged(): Promise<boolean> {
    if (!this.#file.isCurrent) return true
    return this.#read((database) => {
      const version = database.pragma('data_version')
      const hasChanged = version !== this.#version
      this.#version = version
      return hasChanged || !this.#clock.glance()
    })
  }

  /** Has every store object of this process on this file tell `listener` what it changes; returns what ends that. */
  listen(listener: Listener): () => void {
    return listen(this.#name, listener)
  }

  /** How many tasks were put aside when the tables were looked at; from then on 0. */
  takeMended(): number {
    return this.#file.takeMended()
  }

  /** Whether whole tables may be looked at now for rows that no index leads to. `isLast`: no later turn is named that would ask again. */
  mayLook(isLast: boolean): boolean {
    return this.#file.mayLook(isLast)
  }

  /** Whether they may be looked at by now, and could not be when there was a reason to. */
  get hasToLook(): boolean {
    return this.#file.hasToLook
  }

  /** To be called within `read` or `write` where such a row was found: the file is repaired, and the step done once more. */
  suspectDamage(): void {
    this.#file.suspectDamage()
  }

  /** When all that was asked for is done. */
  close(): Promise<void> {
    return this.#line.run(() => {
      try {
        // what it holds would be gone with it
        if (!this.#file.isCurrent) this.#file.connect(true)
      } catch {
        // the place where it was cannot be written
      }
      if (this.#hasCopies) this.#file.open?.rewrite()
      this.#file.close()
      this.#version = undefined
    })
  }

  /** `undefined`: nothing was done, since another process has moved everything out of the file meanwhile. */
  #writeOnce<T>(
    work: (tx: FileTransaction) => T,
    { durable = false, arranges = false, erases = false }: Urgency,
  ): Transacted<T> | undefined {
    const database = this.#file.connect(durable)
    const isNew = durable && !arranges
    if (isNew) this.#reserve.keep(freeIn(database))
    if (durable && this.#hasGap) this.#closeGap(database)
    const done = this.#transact(database, work)
    if (!done) return
    if (isNew && this.#reserve.isTight()) {
      database.settleLog(this.path)
      this.#isScarce = this.#reserve.isScarce(freeIn(database))
    } else if (isNew) this.#isScarce = false
    tell(this.#name, done.hints)
    if (this.#remains) this.#erase(database, erases)
    return done
  }

  /** The file has all that the log had, and the log begins anew. */
  #closeGap(database: Connection): void {
    if (!database.cutLog()) throw unsynced()
    this.#hasGap = false
  }

  #readCurrent<T>(work: (database: Connection) => T): T {
    for (;;) {
      const database = this.#file.connect(false)
      const answer = work(database)
      if (this.#file.connect(false) === database) return answer
    }
  }

  /** Waits for its turn, and without standing in the way of others while another process holds the file. */
  async #run<T>(step: () => T, isNew = false): Promise<T> {
    try {
      return await this.#line.run(() => {
        try {
          return step()
        } catch (error) {
          if (isFull(error)) return this.#inRoom(step, isNew)
          if (!isCorrupt(error) || !this.#file.repair()) throw error
          return step()
        }
      })
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** A step once more that the disk had no room for: in that of the log, and if it brings nothing new also in that of the reserve. */
  #inRoom<T>(step: () => T, isNew: boolean): T {
    this.#isFull = true
    for (;;) {
      this.#file.open?.reuseLog()
      try {
        const result = step()
        this.#seeRoom()
        return result
      } catch (error) {
        if (isNew || !isFull(error) || !this.#reserve.give()) throw error
        this.#report('storage_full', `the disk under '${this.path}' is full: ${GOES_ON}`)
      }
    }
  }

  #failed(error: unknown): unknown {
    if (isUnusable(error)) {
      this.#file.forget()
      this.#version = undefined
    }
    return translated(error, this.path)
  }

  readonly #lineupOf: LineupOf = (database, state) => lineupIn(database, state, this.everyone, this.path)

  #transact<T>(database: Connection, work: (tx: FileTransaction) => T): Transacted<T> | undefined {
    database.run('BEGIN IMMEDIATE')
    try {
      if (!this.#file.isCurrent && !this.#file.staysBehind) {
        database.run('ROLLBACK')
        return
      }
      refuseNewer(database.pragma('user_version'), this.path) // it may have been migrated since it was opened
      const tx = new FileTransaction(database, this.#clock, this.terms, this.#lineupOf)
      const result = work(tx)
      tx.written()
      database.run('COMMIT')
      this.#clock.saw(tx.now, tx.state)
      if (tx.hasErased) this.#remains = true
      return { result, hints: tx.hints }
    } catch (error) {
      rollBack(database)
      throw error
    }
  }

  /**
   * Rids the file of what was deleted. The log keeps what was written before: it is cut at once where a user has asked for the
   * deletion, else now and then. SQLite leaves copies of rows that it has moved within a page: after a purge the file is written
   * anew, unless that was done a moment ago, has to wait for another process, or would take long for all: then a later turn or `close` does it.
   */
  #erase(database: Connection, atOnce: boolean): void {
    const now = this.#wallClock.monotonic()
    if (atOnce) this.#hasCopies = true
    const isTime = now - this.#erasedAt >= ERASE_MS
    if (!atOnce && (!isTime || !this.#seeRoom())) return
    if (this.#hasCopies && (isTime || !this.#hasRewritten) && this.#isSoonRewritten(database)) {
      this.#hasRewritten = true
      this.#hasCopies = !database.rewrite()
      this.#erasedAt = now
    } else if (isTime) this.#erasedAt = now
    this.#remains = !database.cutLog() || this.#hasCopies
  }

  #isSoonRewritten(database: Connection): boolean {
    return !this.everyone || database.pragma('page_count') * database.pragma('page_size') <= MOST_REWRITTEN
  }

  /** Says whether the room of the log can be done without: on a full disk another program would take it. */
  #seeRoom(): boolean {
    if (this.#isFull && this.#reserve.hasRoom()) {
      this.#isFull = false
      const { open } = this.#file
      if (open) keepLog(open, this.path, this.everyone)
    }
    return !this.#isFull
  }
}

/** Bytes in pages that hold nothing. */
const freeIn = (database: Connection): number => database.pragma('freelist_count') * database.pragma('page_size')

const byFile = new Map<string, Set<Listener>>()

/** One name for a file that can be reached by several paths, whether it is there yet or not. */
function fileName(whole: string): string {
  try {
    return join(realpathSync(dirname(whole)), basename(whole))
  } catch {
    return whole // opening it will say what is wrong with its folder
  }
}

function listen(file: string, listener: Listener): () => void {
  const own: Listener = (hint) => listener(hint) // twice the same function is two listeners
  const listeners = byFile.get(file) ?? new Set()
  byFile.set(file, listeners.add(own))
  return () => {
    listeners.delete(own)
    if (listeners.size === 0 && byFile.get(file) === listeners) byFile.delete(file)
  }
}

/** Each listener by itself: one that throws does not keep the others from hearing. */
function tell(file: string, hints: readonly Hint[]): void {
  const listeners = byFile.get(file)
  if (!listeners) return
  for (const hint of hints) for (const listener of listeners) queueMicrotask(() => listener(hint))
}
