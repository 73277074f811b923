/** The queue processes: started, killed and started again, frozen and let go on. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Aimed, MemberOptions, Order, Told } from './queue-process.ts'
import type { Moment } from './watched-store.ts'

const ofFiles = fileURLToPath(new URL('./member.ts', import.meta.url))

/** Who hears what the processes say. */
export interface Ear {
  accepted(intent: string, taskId: string, durability: string): void
  refused(intent: string, message: string, code?: string): void
  /** A process is gone, and with it the answers to these. */
  unanswered(orders: readonly Order[]): void
}

interface Member {
  readonly child: ChildProcess
  readonly life: string
  readonly open: Map<string, Order>
  ready: boolean
  frozen: boolean
  /** Told where to be killed. */
  doomed: boolean
  /** What it wrote last. */
  words: string
}

/** What each process is told when it starts, but for its life. */
export type CrewOptions = Omit<MemberOptions, 'life'>

export interface Crewing {
  /** How long the place of one that is gone stays empty. @default 0 */
  readonly startAgainMs?: number
  /** What a process runs. @default member.ts, on a file */
  readonly program?: string
}

export class Crew {
  readonly #options: CrewOptions
  readonly #ear: Ear
  readonly #program: string
  readonly #members = new Map<number, Member>()
  #lives = 0
  #turn = 0
  #ending = false
  kills = 0
  /** Of these, those at the worst of moments. */
  aimed = 0
  freezes = 0
  /** Processes that ended without being killed, and what they said last. */
  readonly deaths: string[] = []
  /** Lives that were ended from outside, and when. */
  readonly killed = new Map<string, number>()
  readonly degraded = new Map<string, number>()
  readonly #startAgainMs: number
  readonly #toStart = new Set<NodeJS.Timeout>()

  constructor(options: CrewOptions, ear: Ear, { startAgainMs = 0, program = ofFiles }: Crewing = {}) {
    this.#options = options
    this.#ear = ear
    this.#startAgainMs = startAgainMs
    this.#program = program
  }

  get lives(): number {
    return this.#lives
  }

  get running(): number {
    return [...this.#members.values()].filter(({ ready }) => ready).length
  }

  start(place: number): void {
    this.#lives++
    const options: MemberOptions = {
      ...this.#options,
      life: `${place}.${this.#lives}`,
      seed: this.#options.seed + this.#lives,
    }
    const child = spawn(process.execPath, [this.#program, JSON.stringify(options)], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    const member: Member = {
      child,
      life: options.life,
      open: new Map(),
      ready: false,
      frozen: false,
      doomed: false,
      words: '',
    }
    child.stderr?.on('data', (chunk) => {
      member.words = `${member.words}${chunk}`.slice(-2_000)
    })
    child.on('message', (told: Told) => this.#hear(member, told))
    child.on('exit', (code, signal) => {
      this.#members.delete(place)
      if (signal === 'SIGKILL') this.kills++
      else if (!this.#ending) this.deaths.push(`${options.life} ended with ${signal ?? code}: ${member.words}`)
      this.#ear.unanswered([...member.open.values()])
      if (!this.#ending) this.#startAgain(place)
    })
    this.#members.set(place, member)
  }

  give(order: Order): boolean {
    const able = [...this.#members.values()].filter(({ ready, frozen, child }) => ready && !frozen && child.connected)
    const member = able[this.#turn++ % Math.max(1, able.length)]
    if (!member) return false
    member.open.set(order.intent, order)
    // a process that dies under it: its exit says what was not answered
    member.child.send(order, () => {})
    return true
  }

  /** Started again as soon as it is gone. */
  kill(pick: number): void {
    const member = this.#pick(pick)
    if (member && !member.doomed) this.#strike(member)
  }

  /** The same at a moment that the process itself comes to; after `withinMs` at any. */
  aim(pick: number, moment: Moment, withinMs: number): void {
    const member = this.#pick(pick)
    if (!member || member.frozen || member.doomed || !member.ready) return
    member.doomed = true
    member.child.send({ aimedAt: moment } satisfies Aimed, () => {})
    const timer = setTimeout(() => {
      this.aimed--
      this.#strike(member)
    }, withinMs)
    this.aimed++
    member.child.once('exit', () => clearTimeout(timer))
  }

  freeze(pick: number, forMs: number): void {
    const member = this.#pick(pick)
    if (!member || member.frozen || member.doomed || !member.child.kill('SIGSTOP')) return
    this.freezes++
    member.frozen = true
    setTimeout(() => {
      member.frozen = false
      member.child.kill('SIGCONT')
    }, forMs)
  }

  async leaveOne(): Promise<void> {
    await this.end()
    this.#ending = false
    this.start(0)
  }

  async end(): Promise<void> {
    this.#endAll()
    const gone = [...this.#members.values()].map(({ child }) => once(child, 'exit'))
    for (const member of this.#members.values()) this.#strike(member)
    await Promise.all(gone)
  }

  async close(): Promise<void> {
    this.#endAll()
    const closing = [...this.#members.values()]
    const gone = closing.map(({ child }) => once(child, 'exit'))
    for (const { child } of closing) child.disconnect()
    for (const [i, [code, signal]] of (await Promise.all(gone)).entries()) {
      if (code !== 0) this.deaths.push(`closed, and ended with ${signal ?? code}: ${closing[i]?.words}`)
    }
  }

  #startAgain(place: number): void {
    const timer = setTimeout(() => {
      this.#toStart.delete(timer)
      this.start(place)
    }, this.#startAgainMs)
    this.#toStart.add(timer)
  }

  #endAll(): void {
    this.#ending = true
    for (const timer of this.#toStart) clearTimeout(timer)
    this.#toStart.clear()
  }

  #strike({ child, life }: Member): void {
    this.killed.set(life, Date.now())
    child.kill('SIGKILL')
  }

  #pick(pick: number): Member | undefined {
    const members = [...this.#members.values()]
    return members[Math.floor(pick * members.length)]
  }

  #hear(member: Member, told: Told): void {
    if (told.what === 'ready') member.ready = true
    else if (told.what === 'degraded') this.degraded.set(told.message, (this.degraded.get(told.message) ?? 0) + 1)
    else {
      member.open.delete(told.intent)
      if (told.what === 'accepted') this.#ear.accepted(told.intent, told.taskId, told.durability)
      else this.#ear.refused(told.intent, told.message, told.code)
    }
  }
}
