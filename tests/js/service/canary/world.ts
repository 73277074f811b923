/**
 * A service with everything switched on that takes secrets in or might say them: two processes on one file, whose answers, logs and files are kept;
 * tokens, credentials and signing keys, each a secret; targets and a receiver that echo.
 */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProblemType, problemUri } from '../../../../js/service/api/problem.ts'
import { freePort } from '../../../servers/free-port.ts'
import { Canaries } from '../../canaries.ts'
import { exchange, HEAD_END } from './exchange.ts'
import { command, type Place, ServiceProcess } from './processes.ts'
import { type CanaryServers, startServers } from './servers.ts'
import { type Made, settingsIn } from './settings.ts'
import { sinkOf, Written } from './sinks.ts'
import { BODIES, type BodiesKind, type Kept, STORES, type StoreKind } from './stores.ts'
import { until } from './until.ts'

export interface Ask {
  readonly method?: string
  /** Of a header given by no name there is none, the token's included. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly json?: unknown
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

interface Outcome {
  readonly problem?: { readonly type: string }
}

export const QUICK = { strategy: 'fixed', initialDelayMs: 5, jitterType: 'NONE', maxAttempts: 2 } as const
export const INLINE_BYTES = 100
export const LATER_MS = 3_600_000
export const TASKS = '/retry-tasks'

export interface Kinds {
  readonly store: StoreKind
  readonly bodies: BodiesKind
}

interface Begun extends Made {
  readonly kept: Readonly<Record<keyof Kinds, Kept>>
}

export class World {
  readonly canaries = new Canaries()
  readonly written = new Written()
  readonly servers: CanaryServers
  readonly #folder: string
  readonly #kept: Begun['kept']
  readonly #place: Place
  readonly #tokens: readonly string[]
  readonly tenantToken: string
  readonly #processes: readonly ServiceProcess[]
  readonly #ids = new Set<string>()
  readonly #listening = new AbortController()
  #turn = 0
  #isOver = false

  private constructor(servers: CanaryServers, canaries: Canaries, processes: readonly ServiceProcess[], made: Begun) {
    this.servers = servers
    this.canaries = canaries
    this.#processes = processes
    ;({
      folder: this.#folder,
      place: this.#place,
      tokens: this.#tokens,
      tenantToken: this.tenantToken,
      kept: this.#kept,
    } = made)
  }

  static async start(kinds: Kinds): Promise<World> {
    const canaries = new Canaries()
    const servers = await startServers(canaries)
    const made = settingsIn(servers, canaries)
    const store = await STORES[kinds.store](made.folder, canaries)
    const bodies = await BODIES[kinds.bodies](made.folder, canaries)
    const place = { ...made.place, env: { ...made.place.env, ...store.env, ...bodies.env } }
    const ports = [await freePort(), await freePort()]
    const targets = [servers.target, servers.other, servers.broken, servers.hooks].join(',')
    const args = [
      ...['--store', store.address, '--bodies', bodies.address, '--inline-body', `${INLINE_BYTES}`],
      ...['--tokens', 'tokens.json', '--signing', 'signing.json'],
      ...['--policies', 'policies.json', '--allow-http', '--allow-private', '127.0.0.1/32', '--targets', targets],
    ]
    const processes = ports.map(
      (port, i) => new ServiceProcess(port, [...args, '--log-format', i === 0 ? 'json' : 'text'], place),
    )
    const world = new World(servers, canaries, processes, { ...made, kept: { store, bodies } })
    for (const each of processes) await until('a process is ready', () => each.isReady())
    for (const each of processes) await world.#listen(each)
    return world
  }

  /** Of the n-th process, counted on with each call that names none. */
  urlOf(n: number = this.#turn++): string {
    return (this.#processes[n % this.#processes.length] as ServiceProcess).url
  }

  get token(): string {
    return this.#tokens[this.#turn % this.#tokens.length] as string
  }

  /** Asks one process, and keeps what it answers, headers and all. */
  async ask(path: string, { method = 'GET', headers = {}, json, body }: Ask = {}): Promise<Answer> {
    const own = { authorization: `Bearer ${this.token}`, ...headers }
    const given = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const text = json === undefined ? body : JSON.stringify(json)
    const type = text === undefined || 'content-type' in headers ? {} : { 'content-type': 'application/json' }
    const { status, bytes } = await exchange(
      `${this.urlOf()}${path}`,
      method,
      { ...type, ...Object.fromEntries(given) },
      text,
    )
    const sink = sinkOf(method, path, status)
    const at = bytes.indexOf(HEAD_END) + HEAD_END.length
    const [head, said] = [bytes.subarray(0, at), bytes.subarray(at).toString()]
    const answer: Answer = {
      status,
      json: /^content-type\napplication\/(problem\+)?json$/im.test(`${head}`) ? JSON.parse(said) : {},
    }
    const { outcomes } = answer.json as { readonly outcomes?: readonly Outcome[] }
    if (sink) this.written.add(sink, outcomes ? head : bytes)
    // what a batch says of one task is what would have been said of it alone
    for (const outcome of outcomes ?? []) {
      this.written.add(outcome.problem ? 'problems' : 'receipts', JSON.stringify(outcome))
    }
    return answer
  }

  async hand(task: object, headers: Ask['headers'] = {}): Promise<string> {
    const { status, json } = await this.ask(TASKS, { method: 'POST', headers, json: { ...this.#rest, ...task } })
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`)
    const taskId = String(json.taskId)
    this.#ids.add(taskId)
    return taskId
  }

  async upload(body: string, type = 'application/octet-stream'): Promise<string> {
    const ask = { method: 'POST', body, headers: { 'content-type': type } }
    const { status, json } = await this.ask('/bodies', ask)
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`)
    return String(json.bodyRef)
  }

  /** Hands a task over that has to be refused: alone, in a batch, and as one of several lines. */
  async refused(type: ProblemType, task: object, headers: Ask['headers'] = {}): Promise<void> {
    const whole = { ...this.#rest, ...task }
    const answers = [
      await this.ask(TASKS, { method: 'POST', headers, json: whole }),
      await this.ask(`${TASKS}/batch`, { method: 'POST', headers, json: { tasks: [whole] } }),
      await this.ask(`${TASKS}/batch`, {
        ...{ method: 'POST', body: `${JSON.stringify(whole)}\n` },
        headers: { ...headers, 'content-type': 'application/x-ndjson' },
      }),
    ]
    for (const { status, json } of answers) {
      const [{ problem = json } = {}] = (json.outcomes ?? []) as readonly Outcome[]
      if (problem.type === problemUri(type)) continue
      throw new Error(`${type} was expected, and it is ${status}: ${JSON.stringify(json)}`)
    }
  }

  /** A request that has to be refused with a problem of this type. */
  async denied(type: ProblemType, path: string, ask: Ask = {}): Promise<void> {
    const { status, json } = await this.ask(path, ask)
    if (json.type === problemUri(type)) return
    throw new Error(
      `${type} was expected of ${ask.method ?? 'GET'} ${path}, and it is ${status}: ${JSON.stringify(json)}`,
    )
  }

  get #rest(): object {
    return { targetUrl: `${this.servers.target}/ok/${this.#turn}`, policy: QUICK, json: this.#turn }
  }

  /** In each state that a task may be in at the end: delivered, after a retry, given up, cancelled, and still waiting. `fields`: of the n-th. */
  async everyWay(
    fields: (n: number) => Readonly<Record<string, unknown>>,
    headers: Ask['headers'] = {},
  ): Promise<void> {
    const { target, hooks } = this.servers
    for (const [n, kind] of (['ok', 'flaky', 'refused', 'cancelled', 'later'] as const).entries()) {
      const given = fields(n)
      const own = {
        targetUrl: `${target}/${kind}/${this.#turn}`,
        callback: { url: `${hooks}/${this.#turn}`, signing: 'env' },
        ...(n > 2 && { delayMs: LATER_MS }),
      }
      const taskId = await this.hand({ ...own, ...given }, headers)
      if (kind === 'cancelled') await this.ask(`${TASKS}/${taskId}`, { method: 'DELETE' })
    }
  }

  async settled(): Promise<void> {
    const isStill = async () => {
      const { json } = await this.ask(`${TASKS}?status=PENDING&limit=1000`)
      const { json: running } = await this.ask(`${TASKS}?status=IN_FLIGHT&limit=1000`)
      const soon = Date.now() + LATER_MS / 2
      const tasks = json.tasks as readonly { readonly nextAttemptAt: number | null; readonly parked: boolean }[]
      const waits = tasks.filter(({ nextAttemptAt, parked }) => !parked && (nextAttemptAt ?? 0) < soon)
      return waits.length + (running.tasks as readonly unknown[]).length === 0
    }
    await until('all tasks are at their end', isStill)
  }

  /** Asks everything that there is to ask, over the API and by the commands. */
  async look(): Promise<void> {
    for (const base of [TASKS, '/dead-letters']) {
      for (let cursor = ''; ; ) {
        const { json } = await this.ask(`${base}?limit=200${cursor && `&cursor=${cursor}`}`)
        for (const { taskId } of json.tasks as readonly { readonly taskId: string }[]) this.#ids.add(taskId)
        if (json.cursor === undefined) break
        cursor = String(json.cursor)
      }
    }
    for (const taskId of this.#ids) {
      for (const more of ['', '/attempts', '/explain', '/body']) await this.ask(`${TASKS}/${taskId}${more}`)
    }
    for (const path of ['/dead-letters/export', '/stats', '/retry-policies', '/pauses']) await this.ask(path)
    for (const n of this.#processes.keys()) {
      const { bytes } = await exchange(`${this.urlOf(n)}/metrics`, 'GET', { authorization: `Bearer ${this.token}` })
      this.written.add('metrics', bytes)
    }
  }

  async lookByCommands(): Promise<void> {
    const ids = [...this.#ids]
    const some = [ids[0], ids.at(-1)].filter((id) => id !== undefined)
    const commands = [
      ...['task list --limit 1000', 'task list --limit 1000 --json', 'dead list --limit 1000', 'dead export'],
      ...some.flatMap((id) => [`task get ${id}`, `task get ${id} --json`, `task explain ${id}`]),
    ]
    for (const words of commands) {
      const place = { ...this.#place, env: { REDRIVE_URL: this.urlOf(), REDRIVE_TOKEN: this.token } }
      const { stdout, stderr } = await command(words.split(' '), place)
      this.written.add('command line', Buffer.concat([stdout, stderr]))
    }
    await this.askDoctor()
  }

  snapshot(): void {
    this.written.add('the store', this.#kept.store.bytes())
    this.written.add('the store of bodies', this.#kept.bodies.bytes())
  }

  /** Lets both processes end, and keeps what they leave behind. */
  async end(): Promise<readonly (number | null)[]> {
    if (this.#isOver) return []
    this.#isOver = true
    this.#listening.abort()
    const codes = await Promise.all(this.#processes.map((each) => each.end()))
    for (const { written } of this.#processes) this.written.add('log', Buffer.concat([written.stdout, written.stderr]))
    for (const text of this.servers.received.hooks) this.written.add('callbacks', text)
    this.snapshot()
    await Promise.all([this.servers.close(), this.#kept.store.end(), this.#kept.bodies.end()])
    rmSync(this.#folder, { recursive: true })
    return codes
  }

  /** Listens as one who has heard an event before. */
  async listenFrom(lastEventId: string): Promise<void> {
    for (const each of this.#processes) await this.#listen(each, { 'last-event-id': lastEventId })
  }

  /** Changes a file of the settings into one that both processes have to refuse. */
  async refusedReload(name: string, content: string): Promise<void> {
    const refusals = () =>
      this.#processes.map(({ written }) => written.stdout.toString().split('reload_refused').length)
    const before = refusals()
    writeFileSync(join(this.#folder, name), content)
    await until(`${name} is read and refused`, async () => refusals().every((count, i) => count > (before[i] ?? 0)))
  }

  /** While the store turns the service away: what both processes say meanwhile, until they are well again. */
  async refusedByStore(): Promise<void> {
    const isUnwell = async () => (await this.ask(`${TASKS}?limit=1`)).status >= 500
    await this.#kept.store.refusing?.(async () => {
      for (const _ of this.#processes) await until('a process has no store', isUnwell)
    })
    for (const each of this.#processes) await until('a process has its store again', () => each.isReady())
    for (const _ of this.#processes) await until('a process has its store again', async () => !(await isUnwell()))
  }

  /** What the doctor says of the store at its address, and at another. */
  async askDoctor(change: (address: string) => string = (address) => address): Promise<void> {
    const { stdout, stderr } = await command(['doctor', '--store', change(this.#kept.store.address)], this.#place)
    this.written.add('command line', Buffer.concat([stdout, stderr]))
  }

  /** Begins an operation once the one before it has ended. */
  async begun(path: string, json: object): Promise<void> {
    await until('an operation begins', async () => (await this.ask(path, { method: 'POST', json })).status === 202)
  }

  /** Keeps the events of a process for as long as they come. */
  async #listen({ url }: ServiceProcess, more: Readonly<Record<string, string>> = {}): Promise<void> {
    const headers = { authorization: `Bearer ${this.token}`, ...more }
    const { body, status } = await fetch(`${url}/events`, { headers, signal: this.#listening.signal })
    if (status !== 200 || !body) throw new Error(`/events answers ${status}`)
    const keep = async () => {
      for await (const part of body) this.written.add('events', part)
    }
    keep().catch(() => {}) // it ends with the run
  }
}
