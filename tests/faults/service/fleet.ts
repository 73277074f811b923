/** The processes of the service: started, killed, stopped and let go on, told to end, and started again. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import type { Agent } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { within } from '../runner.ts'
import { agentFor } from './ask.ts'
import type { Note } from './history.ts'
import type { BlowKind } from './plan.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const program = join(root, 'js', 'cli.ts')
const preload = new URL('./preload.ts', import.meta.url).href

/** A process on a machine with much other work takes some seconds to start. */
const START_MS = 60_000
const LAST_WORDS = 2_000
/** One that was told to end so long ago never will. */
const NEVER_MS = 60_000

export interface Life {
  /** `1.3`: the third one in place 1. */
  readonly name: string
  readonly url: string
  readonly agent: Agent
}

/** Something that befell a process, or Redis. */
export interface Struck {
  readonly kind: BlowKind
  /** '' for Redis. */
  readonly life: string
  readonly from: number
  /** When it was over: its process was gone, or went on, or Redis answered again. */
  until: number
}

/** The end of a process that was told to end. */
export interface Exit {
  readonly life: string
  readonly code: number | null
  readonly signal: string | null
  readonly tookMs: number
}

/** The end of a process that was not told to end, nor killed. */
export interface Death {
  readonly life: string
  readonly startedAt: number
  readonly at: number
  /** It had been ready. */
  readonly wasReady: boolean
  /** How it ended, and its last words. */
  readonly words: string
}

export interface FleetOptions {
  readonly folder: string
  /** Words of the command line, but for the port. */
  readonly args: readonly string[]
  /** Variables of each process beside those of this one. */
  readonly env?: Readonly<Record<string, string>>
  readonly mutant?: string | undefined
  /** Hears what befalls processes. */
  readonly note?: Note
}

interface Member {
  readonly name: string
  readonly child: ChildProcess
  readonly agent: Agent
  readonly startedAt: number
  url: string | undefined
  isStopped: boolean
  isLeaving: boolean
  words: string
}

export class Fleet {
  /** In the order in which they came. */
  readonly struck: Struck[] = []
  readonly exits: Exit[] = []
  readonly deaths: Death[] = []
  readonly #options: FleetOptions
  readonly #members = new Map<number, Member>()
  #lives = 0
  #turn = 0
  #isEnding = false

  constructor(options: FleetOptions) {
    this.#options = options
    process.once('exit', this.#endNow)
  }

  get lives(): number {
    return this.#lives
  }

  /** Processes that answer, as far as is known. */
  get ready(): readonly Life[] {
    return [...this.#members.values()].flatMap(({ name, url, agent, isStopped, isLeaving }) =>
      url !== undefined && !isStopped && !isLeaving ? [{ name, url, agent }] : [],
    )
  }

  /** Life -> process id, of those that have not ended. */
  get pids(): ReadonlyMap<string, number> {
    return new Map([...this.#members.values()].map(({ name, child }) => [name, child.pid ?? 0]))
  }

  /** Any that is there, stopped and leaving ones too, in turn: clients know no better. `other`: another one, if there is. */
  pick(other = ''): Life | undefined {
    const all = [...this.#members.values()].filter(({ url }) => url !== undefined)
    const able = all.filter(({ name }) => name !== other)
    const { name, url, agent } =
      (able.length > 0 ? able : all)[this.#turn++ % Math.max(1, able.length || all.length)] ?? {}
    return name !== undefined && url !== undefined && agent ? { name, url, agent } : undefined
  }

  count(kind: BlowKind): number {
    return this.struck.filter((each) => each.kind === kind).length
  }

  start(place: number): void {
    this.#lives++
    const name = `${place}.${this.#lives}`
    const { folder, args, mutant, env } = this.#options
    const child = spawn(process.execPath, ['--import', preload, program, 'serve', '--port', '0', ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...environment(mutant), ...env },
    })
    const member: Member = {
      ...{ name, child, agent: agentFor(), startedAt: Date.now(), url: undefined },
      ...{ isStopped: false, isLeaving: false, words: '' },
    }
    this.#members.set(place, member)
    let head = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        appendFileSync(join(folder, `${name}.log`), chunk)
        member.words = `${member.words}${chunk}`.slice(-LAST_WORDS)
        if (member.url !== undefined) return
        head += chunk
        if (/"event":"ready"/.test(head)) member.url = /"event":"listening","url":"([^"]+)"/.exec(head)?.[1]
      })
    }
    child.once('exit', (code, signal) => {
      if (this.#members.get(place) === member) this.#members.delete(place)
      member.agent.destroy()
      if (this.#isEnding || member.isLeaving) return
      if (signal !== 'SIGKILL') this.#died(member, `ended with ${signal ?? code}: ${member.words}`)
      this.start(place)
    })
  }

  async whenReady(count: number): Promise<void> {
    if (await within(START_MS, () => this.ready.length >= count || this.deaths.length > 0)) {
      if (this.deaths.length === 0) return
    }
    throw new Error(
      `${this.ready.length} of ${count} processes are ready: ${this.deaths.map(({ words }) => words).join('; ') || 'they take too long'}`,
    )
  }

  /** Started again as soon as it is gone. */
  kill(pick: number): void {
    const member = this.#memberAt(pick)
    if (!member) return
    const struck = this.#note('kill', member.name)
    member.child.once('exit', () => this.#over(struck))
    member.child.kill('SIGKILL')
  }

  stop(pick: number, forMs: number): void {
    const member = this.#memberAt(pick)
    if (!member?.child.kill('SIGSTOP')) return
    const struck = this.#note('stop', member.name)
    member.isStopped = true
    setTimeout(() => {
      this.#over(struck)
      member.isStopped = false
      member.child.kill('SIGCONT')
    }, forMs)
  }

  /** Told to end; another one takes its place once it has. */
  drain(pick: number): void {
    const member = this.#memberAt(pick)
    if (!member) return
    const place = this.#placeOf(member)
    const struck = this.#note('drain', member.name)
    void this.#leave(member).then(() => {
      this.#over(struck)
      if (!this.#isEnding) this.start(place)
    })
  }

  /** Redis is about to be killed. To be called once it answers again. */
  strikeRedis(): () => void {
    const struck = this.#note('redis', '')
    return () => this.#over(struck)
  }

  /** Lets all end by themselves, those that have hardly started too. */
  async close(): Promise<void> {
    this.#isEnding = true
    await Promise.all(
      [...this.#members.values()].map((member) => (member.isLeaving ? gone(member) : this.#leave(member))),
    )
  }

  async end(): Promise<void> {
    this.#isEnding = true
    const all = [...this.#members.values()].map((member) => gone(member))
    this.#endNow()
    await Promise.all(all)
    process.off('exit', this.#endNow)
  }

  async #leave(member: Member): Promise<void> {
    const from = Date.now()
    member.isLeaving = true
    const ended = once(member.child, 'exit')
    member.child.kill('SIGTERM')
    // its end by this signal is told as what it is
    const timer = setTimeout(() => member.child.kill('SIGKILL'), NEVER_MS)
    const [code, signal] = (await ended) as [number | null, string | null]
    clearTimeout(timer)
    this.exits.push({ life: member.name, code, signal, tookMs: Date.now() - from })
  }

  #died({ name: life, startedAt, url }: Member, words: string): void {
    this.deaths.push({ life, startedAt, at: Date.now(), wasReady: url !== undefined, words })
  }

  readonly #endNow = (): void => {
    // one that is stopped dies of it too
    for (const { child } of this.#members.values()) child.kill('SIGKILL')
  }

  #note(kind: BlowKind, life: string): Struck {
    const struck: Struck = { kind, life, from: Date.now(), until: Number.POSITIVE_INFINITY }
    this.struck.push(struck)
    this.#options.note?.('nemesis', kind, { life })
    return struck
  }

  #over(struck: Struck): void {
    struck.until = Date.now()
    this.#options.note?.('nemesis', 'over', struck)
  }

  /** One that answers. */
  #memberAt(pick: number): Member | undefined {
    const able = [...this.#members.values()].filter(({ url, isStopped, isLeaving }) => url && !isStopped && !isLeaving)
    return able[Math.floor(pick * able.length)]
  }

  #placeOf(member: Member): number {
    return [...this.#members].find(([, each]) => each === member)?.[0] ?? 0
  }
}

async function gone({ child }: Member): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** The settings of a shell are not those of the run. */
function environment(mutant: string | undefined): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('REDRIVE_'))
  const cache = mutant ? {} : { NODE_COMPILE_CACHE: join(root, 'target', 'faults', 'compiled') }
  return { ...Object.fromEntries(own), ...cache, ...(mutant && { FAULTS_MUTANT: mutant }) }
}
