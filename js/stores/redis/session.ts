/** Calls of the scripts: what each of them gets, what is sent again when, and what becomes of their hints. */

import type { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { RECORD_SCHEMA } from '../../api/records.ts'
import type { Counts, Hint, Report, StoreTerms } from '../../api/store.ts'
import type { Clock } from '../../platform/clock.ts'
import {
  codeOf,
  isFinal,
  isRefused,
  isUnknownFunction,
  isUnknownScript,
  isWithoutFunctions,
  isWithoutRight,
  NoRight,
  translated,
  unavailable,
} from './failures.ts'
import { hintsIn } from './hints.ts'
import { Packer } from './packed.ts'
import { type Arg, isAnswer, type RedisPort, type Reply } from './port.ts'
import { COMMANDS, controlScript, keysOf, LAYOUT, library, RIGHTS, readScript, type Script } from './scripts.ts'
import type { Kept, Shared } from './task.ts'
import { tagIn } from './task.ts'

/** Waits between attempts of a call whose answer was lost, in milliseconds. */
const PAUSES = [50, 250, 1_000]

type Send = (command: string, name: string) => Promise<Reply>

/** Whether a call may be made again when its answer is lost. */
export type Again = 'safe' | 'never'

export interface SessionOptions {
  readonly name: string
  readonly port: RedisPort
  readonly clock: Clock
  /** Its time counts, and not the server's: for tests. */
  readonly ownTime: boolean
  readonly terms: StoreTerms
  /** All lanes stand in one line. */
  readonly everyone: boolean
  /** The time that an answer may take: a server that hangs must not hang its callers. */
  readonly answerMs: number
  /** Asked before the first call of each connection: what the server is, and whether it may be used. */
  readonly open: () => Promise<void>
}

export class Session {
  readonly name: string
  readonly port: RedisPort
  readonly keys: readonly string[]
  /** Tells own hints from those of others. */
  readonly sender: Buffer = randomBytes(16)
  readonly everyone: boolean
  /** Records that the store has, by the digits of their tag. */
  readonly records: Map<string, string> = new Map()
  terms: StoreTerms
  report: Report | undefined
  readonly #clock: Clock
  readonly #ownTime: boolean
  readonly #open: () => Promise<void>
  readonly #answerMs: number
  #opened: Promise<void> | undefined
  /** Whether the server has functions for us, as far as is known. */
  #hasFunctions = true
  /** The counts that the last turn has found. */
  #last: { readonly born: number; readonly counts: Counts } | undefined
  /** Calls that have not been answered. */
  readonly #underWay = new Set<Promise<unknown>>()
  /** Aborted when the store is closed; a call after that has another. */
  #closing = new AbortController()
  readonly #listeners = new Set<(hint: Hint) => void>()

  constructor({ name, port, clock, ownTime, terms, everyone, answerMs, open }: SessionOptions) {
    this.name = name
    this.port = port
    this.keys = keysOf(name)
    this.#clock = clock
    this.#ownTime = ownTime
    this.#open = open
    this.#answerMs = answerMs
    this.terms = terms
    this.everyone = everyone
    port.onReconnect(() => this.reopen())
  }

  /** Has the server asked again, before the next call, what it is: it may be another one. */
  reopen(): void {
    this.#opened = undefined
    this.#hasFunctions = true
  }

  /** Takes note of what a turn has found, in a store that was begun at `born`. One that has begun anew has lost what there was. */
  turned(born: number, counts: Counts): void {
    const before = this.#last
    this.#last = { born, counts }
    if (!before || before.born === born) return
    this.records.clear()
    const { pending, inFlight, exhausted, succeeded, cancelled } = before.counts
    const lost = `${pending + inFlight} waiting or in flight, ${exhausted} dead letters, ${succeeded + cancelled} that had ended`
    this.report?.(
      'storage_evicted',
      `the store '${this.name}' in Redis was emptied (FLUSHALL, or a restart without its data) and begins anew; by the last look it held ${lost}; settings kept in it, such as pauses, are lost too`,
    )
  }

  /** Calls that are to be asked again are given up from now on. */
  giveUp(): void {
    this.#closing.abort()
    this.#closing = new AbortController()
  }

  /** Resolves once every call is answered that is under way now. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  /** Tells listeners of this process, each by itself: one that throws does not keep the others from hearing. */
  tell(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) queueMicrotask(() => listener(hint))
  }

  /** Runs a script and tells what it has changed. The last part of its answer are its hints. */
  async write(script: Script, args: readonly Arg[], again: Again, port?: RedisPort): Promise<readonly Reply[]> {
    const answer = await this.run(script, args, again, port)
    this.tell(hintsIn(answer.at(-1) as Buffer))
    return answer
  }

  /** A command of `control.lua`: what it says. */
  command(name: string, ...args: readonly Arg[]): Promise<Reply> {
    return this.commandOn(this.port, name, ...args)
  }

  /** `command`, sent on a connection that is not the one of all. */
  async commandOn(port: RedisPort, name: string, ...args: readonly Arg[]): Promise<Reply> {
    const [, said] = await this.write(controlScript, [name, ...args], 'safe', port)
    return said as Reply
  }

  /** A question of `read.lua`: what it says, and what instants are shown less. */
  async ask(name: string, ...args: readonly Arg[]): Promise<{ readonly said: Reply; readonly offset: number }> {
    const [state, said] = await this.run(readScript, [name, ...args], 'safe')
    return { said: said as Reply, offset: (state as Buffer).readDoubleBE(0) }
  }

  /** `port`: the connection to send it on, if not the one of all. */
  run(script: Script, args: readonly Arg[], again: Again, port: RedisPort = this.port): Promise<readonly Reply[]> {
    return this.#insist(async () => {
      await this.inTime(this.#ready())
      return (await this.inTime(this.#once(port, script, [this.#head(), ...args]))) as readonly Reply[]
    }, again)
  }

  #insist<T>(ask: () => Promise<T>, again: Again): Promise<T> {
    const answer = this.#insisted(ask, again, this.#closing.signal)
    this.#underWay.add(answer)
    const over = (): void => void this.#underWay.delete(answer)
    answer.then(over, over)
    return answer
  }

  /** Asks again what may be asked again, a few times, and not once the store is closed. Rejects with an error of the package. */
  async #insisted<T>(ask: () => Promise<T>, again: Again, closed: AbortSignal): Promise<T> {
    // an earlier try may have been done, and its answer lost
    let isUnsure = false
    for (let tries = 0; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        const pause = PAUSES[tries]
        const isOver = isFinal(error) || pause === undefined || closed.aborted
        if (isOver || (again === 'never' && !isRefused(error))) {
          throw isUnsure && codeOf(error) === 'OOM'
            ? unavailable(this.name, 'the server is full now, and an earlier try may have been done', error)
            : translated(error, this.name)
        }
        isUnsure ||= !isRefused(error)
        await this.#pause(pause, closed)
        if (closed.aborted) throw translated(error, this.name)
      }
    }
  }

  #pause(forMs: number, closed: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const over = (): void => {
        disarm()
        closed.removeEventListener('abort', over)
        resolve()
      }
      const disarm = this.#clock.after(forMs, over)
      closed.addEventListener('abort', over)
    })
  }

  async #once(port: RedisPort, script: Script, args: readonly Arg[]): Promise<Reply> {
    const key = this.keys[0] as string
    const given = [String(this.keys.length), ...this.keys, ...args]
    const send: Send = (command, name) => port.call(command, [name, ...given], key)
    try {
      const answer = this.#hasFunctions
        ? await this.#called(port, send, `redrive_${script.name}_${library.hash}`)
        : undefined
      return answer ?? (await evaluated(send, script))
    } catch (error) {
      throw await this.#explained(error)
    }
  }

  /** The answer of a function, whose library is loaded where it is missing. undefined: the server takes none from its user. */
  async #called(port: RedisPort, send: Send, name: string): Promise<Reply | undefined> {
    for (const isLoaded of [false, true]) {
      try {
        return await send('FCALL', name)
      } catch (error) {
        if (isWithoutFunctions(error)) break
        if (!isUnknownFunction(error)) throw error
        // while a slot moves, another node may have the keys than the one that was given the library
        if (isLoaded) return undefined
      }
      if (!(await this.#loads(port))) break
    }
    this.#hasFunctions = false
    return undefined
  }

  /** Loads the library. Says whether it is there now: there may be no right to do so, or no room. */
  async #loads(port: RedisPort): Promise<boolean> {
    try {
      await port.call('FUNCTION', ['LOAD', library.source], this.keys[0] as string)
      return true
    } catch (error) {
      if (!isAnswer(error) || isRefused(error)) throw error
      // another process was faster
      return /already exists/.test(String(error))
    }
  }

  /** Finds out which commands a script lacks, of which the server says only that there is one. */
  async #explained(error: unknown): Promise<unknown> {
    if (!isWithoutRight(error)) return error
    const key = this.keys[0] as string
    const lacking = await this.port.call('EVAL', [RIGHTS, '1', key, ...COMMANDS], key)
    return new NoRight(String(lacking), error)
  }

  /** The answer, if it comes soon enough. What is late is not asked for again: the server has it. */
  inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const words = `no answer within ${this.#answerMs} ms; what was asked for may have been done`
      const disarm = this.#clock.after(this.#answerMs, () => reject(unavailable(this.name, words)))
      answer.then(resolve, reject).finally(disarm)
    })
  }

  #ready(): Promise<void> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  #head(): Buffer {
    const { capacity, capacityBytes, maxLaneHoldMs, retention } = this.terms
    const { terminalMs, maxTerminal, deadLetterMs, maxDeadLetters } = retention
    return new Packer(112)
      .f64(LAYOUT, this.#ownTime ? this.#clock.now() : Number.NaN, RECORD_SCHEMA)
      .bytes(this.sender)
      .f64(capacity, capacityBytes, maxLaneHoldMs, terminalMs, maxTerminal, deadLetterMs, maxDeadLetters)
      .u8(this.everyone ? 1 : 0)
      .done()
  }

  /** Whether the store is known to keep a record. */
  has({ tag }: Shared): boolean {
    return this.records.has(tag.toString('hex'))
  }

  /** Has the store keep records that tasks are about to share. */
  async share(records: readonly Shared[]): Promise<void> {
    if (records.length === 0) return
    const kept = await this.command(
      'records',
      String(records.length),
      ...records.flatMap(({ tag, text }) => [tag, text]),
    )
    if (kept !== 1) return
    for (const { tag, text } of records) this.records.set(tag.toString('hex'), text)
  }

  /** Learns the records that tasks of an answer name. */
  async learn(tasks: readonly Kept[]): Promise<void> {
    const wanted = new Map<string, Buffer>()
    for (const task of tasks) {
      const tag = tagIn(task)
      const digits = tag?.toString('hex')
      if (tag && digits !== undefined && !this.records.has(digits)) wanted.set(digits, tag)
    }
    if (wanted.size === 0) return
    const key = this.keys.at(-1) as string
    const asked = () => this.inTime(this.port.call('HMGET', [key, ...wanted.values()], key))
    const texts = (await this.#insist(asked, 'safe')) as readonly (Buffer | null)[]
    ;[...wanted.keys()].forEach((digits, i) => {
      const text = texts[i]
      if (text) this.records.set(digits, text.toString())
    })
  }
}

/** The answer of a script, which the server is given where it does not know it. */
async function evaluated(send: Send, { sha, source }: Script): Promise<Reply> {
  try {
    return await send('EVALSHA', sha)
  } catch (error) {
    if (!isUnknownScript(error)) throw error
    return send('EVAL', source)
  }
}
