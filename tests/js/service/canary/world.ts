/**
 * A service with everything switched on that takes secrets in or might say them: two processes on one file, whose answers, logs and files are kept;
 * tokens, credentials and signing keys, each a secret; targets and a receiver that echo.
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../servers/free-port.ts'
import { Canaries } from '../../canaries.ts'
import { eventually } from '../../eventually.ts'
import { exchange } from './exchange.ts'
import { command, type Place, ServiceProcess } from './processes.ts'
import { type CanaryServers, startServers } from './servers.ts'
import { type Made, settingsIn } from './settings.ts'
import { sinkOf, sqliteBytes, Written } from './sinks.ts'

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

/** Attempts come at once, and a task is soon at its end. */
export const QUICK = { strategy: 'fixed', initialDelayMs: 5, jitterType: 'NONE', maxAttempts: 2 } as const
const LATER_MS = 3_600_000
export const TASKS = '/retry-tasks'

export class World {
  readonly canaries = new Canaries()
  readonly written = new Written()
  readonly servers: CanaryServers
  readonly #folder: string
  readonly #place: Place
  readonly #tokens: readonly string[]
  readonly tenantToken: string
  readonly #processes: readonly ServiceProcess[]
  readonly #ids = new Set<string>()
  readonly #listening = new AbortController()
  #turn = 0
  #isOver = false

  private constructor(servers: CanaryServers, canaries: Canaries, processes: readonly ServiceProcess[], made: Made) {
    this.servers = servers
    this.canaries = canaries
    this.#processes = processes
    ;({ folder: this.#folder, place: this.#place, tokens: this.#tokens, tenantToken: this.tenantToken } = made)
  }

  static async start(): Promise<World> {
    const canaries = new Canaries()
    const servers = await startServers(canaries)
    const made = settingsIn(servers, canaries)
    const ports = [await freePort(), await freePort()]
    const args = [
      ...['--store', 'sqlite:tasks.db', '--tokens', 'tokens.json', '--credentials', 'credentials.json'],
      ...[
        '--signing',
        'signing.json',
        '--policies',
        'policies.json',
        '--allow-http',
        '--allow-private',
        '127.0.0.1/32',
      ],
      ...['--targets', [servers.target, servers.other, servers.broken, servers.hooks].join(',')],
    ]
    const processes = ports.map(
      (port, i) => new ServiceProcess(port, [...args, '--log-format', i === 0 ? 'json' : 'text'], made.place),
    )
    const world = new World(servers, canaries, processes, made)
    for (const each of processes) await eventually(() => each.isReady()).toBe(true)
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
    if (sink) this.written.add(sink, bytes)
    const said = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).toString()
    return { status, json: said.startsWith('{') ? JSON.parse(said) : {} }
  }

  /** Hands a task over; it has to be taken. */
  async hand(task: object, headers: Ask['headers'] = {}): Promise<string> {
    const { status, json } = await this.ask(TASKS, { method: 'POST', headers, json: { ...this.#rest, ...task } })
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(json)}`)
    const taskId = String(json.taskId)
    this.#ids.add(taskId)
    return taskId
  }

  /** Hands a task over that has to be refused: alone, in a batch, and as one of several lines. */
  async refused(type: string, task: object, headers: Ask['headers'] = {}): Promise<void> {
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
      const [outcome] = (json.outcomes ?? []) as readonly { readonly problem?: object }[]
      // what a batch says of one task is a problem, too
      if (outcome) this.written.add('problems', JSON.stringify(outcome))
      const said = (outcome?.problem ?? json) as { readonly type?: string }
      if (said.type === `urn:redrive:problem:${type}`) continue
      throw new Error(`${type} was expected, and it is ${status}: ${JSON.stringify(said)}`)
    }
  }

  /** A request that has to be refused with a problem of this type. */
  async denied(type: string, path: string, ask: Ask = {}): Promise<void> {
    const { status, json } = await this.ask(path, ask)
    if (json.type === `urn:redrive:problem:${type}`) return
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

  /** Waits until nothing is left to do but what is to wait. */
  async settled(): Promise<void> {
    const moving = async () => {
      const { json } = await this.ask(`${TASKS}?status=PENDING&limit=1000`)
      const { json: running } = await this.ask(`${TASKS}?status=IN_FLIGHT&limit=1000`)
      const soon = Date.now() + LATER_MS / 2
      const tasks = json.tasks as readonly { readonly nextAttemptAt: number | null; readonly parked: boolean }[]
      const waits = tasks.filter(({ nextAttemptAt, parked }) => !parked && (nextAttemptAt ?? 0) < soon)
      return waits.length + (running.tasks as readonly unknown[]).length
    }
    await eventually(moving).toBe(0)
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
  }

  /** Keeps what lies in the file now. */
  snapshot(): void {
    this.written.add('SQLite', sqliteBytes(join(this.#folder, 'tasks.db')))
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
    await this.servers.close()
    rmSync(this.#folder, { recursive: true })
    return codes
  }

  /** Listens as one who has heard an event before. */
  async listenFrom(lastEventId: string): Promise<void> {
    for (const each of this.#processes) await this.#listen(each, { 'last-event-id': lastEventId })
  }

  /** Begins an operation once the one before it has ended. */
  async begun(path: string, json: object): Promise<void> {
    await eventually(async () => (await this.ask(path, { method: 'POST', json })).status).toBe(202)
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
