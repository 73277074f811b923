/** A Worker from the tarball in a real workerd, with objects on a disk; it can be killed and started again. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'
import type { EnqueueReceipt } from '../../../js/api/methods.ts'
import type { AttemptLog, Decision, RetryTask } from '../../../js/api/task.ts'
import { children } from './children.ts'
import { workerOf } from './project.ts'

/** A process that was killed is gone by then. */
const GONE_MS = 5_000
/** One after another: whose process is whose is seen by what is new. */
let starting: Promise<unknown> = Promise.resolve()

/** What a Worker and its objects are given. All of it is JSON. */
export interface EdgeOptions {
  /** Options of `RedriveObject`. */
  readonly object?: Readonly<Record<string, unknown>>
  /** Options of `withRetry`. */
  readonly worker?: Readonly<Record<string, unknown>>
  /** What the object's `credentials` give its own origin as Authorization; null: it has none. */
  readonly token?: string | null
  /** More of what it gives. */
  readonly credentials?: Readonly<Record<string, string>>
  /** With it the object signs what it sends. */
  readonly secret?: string
  /** Where the handlers of the Worker send. */
  readonly api?: string
}

export interface Call {
  readonly url: string
  readonly init?: Readonly<Record<string, unknown>>
  /** The Worker makes a Request of it, passes on one that came to it, or enqueues it. */
  readonly as?: 'request' | 'proxied' | 'inherited' | 'enqueue'
  /** It begins once that one of the same list has its answer. */
  readonly after?: number
  /** Its caller leaves so long after it began. */
  readonly abortMs?: number
}

export interface Thrown {
  readonly name: string
  readonly code?: string
  readonly message: string
}

export interface Answer {
  readonly status: number
  readonly redirected: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly error?: Thrown
  /** Of `as: 'enqueue'`. */
  readonly receipt?: EnqueueReceipt
}

export interface Degraded {
  readonly code: string
  readonly message: string
}

export interface Answers {
  readonly answers: readonly Answer[]
  readonly degraded: readonly Degraded[]
  /** How many promises `waitUntil` was given. */
  readonly kept: number
  /** What `workerFetch` itself threw. */
  readonly refused?: Thrown
}

/** What an object wrote down since the process began. */
export interface Story {
  readonly runs: readonly {
    readonly attempts: number
    readonly ended: number
    readonly nextRunAt: number | null
    readonly error?: string
  }[]
  readonly alarms: readonly { readonly threw: string | null; readonly stands: boolean }[]
  readonly degraded: readonly Degraded[]
  /** Its dead letters, in words. */
  readonly dead: readonly string[]
  readonly alarmAt: number | null
  readonly bornAt: number
}

export interface Where {
  /** Its binding. @default 'REDRIVE' */
  readonly queue?: string
  readonly origin: string
  readonly principal?: string | null
  readonly shard?: number
}

/** What of a Worker the runner's types leave out. */
interface Triggers {
  scheduled(event: { readonly cron: string }): Promise<unknown>
  queue(name: string, messages: readonly unknown[]): Promise<unknown>
}

/** Which object, and what it can be asked. */
export class EdgeObject {
  readonly #edge: Edge
  readonly #where: Where

  constructor(edge: Edge, where: Where) {
    this.#edge = edge
    this.#where = where
  }

  async ask<T>(method: string, ...args: readonly unknown[]): Promise<T> {
    const { value, error } = await this.#edge.post<{ value: T; error?: Thrown }>('/order', {
      ...this.#where,
      method,
      args,
    })
    if (error) throw Object.assign(new Error(`${method}: ${error.message}`), { code: error.code })
    return value
  }

  get = (taskId: string): Promise<RetryTask | null> => this.ask('get', taskId)
  attempts = (taskId: string): Promise<{ attempts: readonly AttemptLog[] }> => this.ask('attempts', taskId, {})
  explain = (taskId: string): Promise<readonly Decision[]> => this.ask('explain', taskId)
  look = (): Promise<Story> => this.ask('look')

  async list(filter: Readonly<Record<string, unknown>> = {}): Promise<readonly RetryTask[]> {
    const tasks: RetryTask[] = []
    for (let cursor: string | undefined; ; ) {
      const asked = { limit: 100, ...filter, ...(cursor ? { cursor } : {}) }
      const page: { tasks: readonly RetryTask[]; cursor?: string } = await this.ask('list', asked)
      tasks.push(...page.tasks)
      cursor = page.cursor
      if (!cursor) return tasks
    }
  }

  /** The next of its process has nothing in memory. */
  async abort(): Promise<void> {
    await this.ask('abort').catch(() => {})
  }

  async evict(): Promise<void> {
    await this.#edge.evict(this.#where)
  }
}

export class Edge implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'redrive-edge-'))
  #options: EdgeOptions
  #miniflare: Miniflare | undefined
  #pid = 0

  private constructor(options: EdgeOptions) {
    this.#options = options
  }

  static async start(options: EdgeOptions = {}): Promise<Edge> {
    const edge = new Edge(options)
    await edge.start()
    return edge
  }

  /** After `kill`: the same Worker on the same disk, with other options where they are given. */
  start(options: EdgeOptions = this.#options): Promise<void> {
    this.#options = options
    const started = starting.then(() => this.#start())
    starting = started.catch(() => {})
    return started
  }

  async #start(): Promise<void> {
    const {
      object = {},
      worker = {},
      token = 'Bearer of-the-object',
      credentials = {},
      secret,
      api = '',
    } = this.#options
    const before = children('workerd')
    this.#miniflare = new Miniflare(
      convertV4MiniflareOptions({
        name: 'edge',
        modules: await workerOf(),
        compatibilityDate: '2026-07-01',
        durableObjects: {
          REDRIVE: { className: 'Outbox', useSQLite: true },
          OTHER: { className: 'Other', useSQLite: true },
          PLAIN: { className: 'Plain' },
          THROWING: { className: 'Throwing', useSQLite: true },
          SILENT: { className: 'Silent', useSQLite: true },
          LATE: { className: 'Late', useSQLite: true },
          LOSSY: { className: 'Lossy', useSQLite: true },
        },
        queueConsumers: ['orders'],
        queueProducers: { ORDERS: 'orders' },
        bindings: {
          OBJECT: object as never,
          WORKER: worker as never,
          CREDENTIALS: credentials,
          API: api,
          ...(token === null ? {} : { TOKEN: token }),
          ...(secret === undefined ? {} : { SIGN: secret }),
        },
        resourcePersistencePath: this.#folder,
        telemetry: { enabled: false },
        handleStructuredLogs: () => {},
      }),
    )
    await this.#miniflare.ready
    const own = children('workerd').filter((pid) => !before.includes(pid))
    if (own.length !== 1) throw new Error(`expected one new workerd, found ${own.length}: who else starts them here?`)
    this.#pid = own[0] as number
  }

  /** As a machine that loses its power. */
  async kill(): Promise<void> {
    const dead = this.miniflare
    this.#miniflare = undefined
    process.kill(this.#pid, 'SIGKILL')
    const deadline = Date.now() + GONE_MS
    while (children('workerd').includes(this.#pid)) {
      if (Date.now() > deadline) throw new Error(`process ${this.#pid} lives ${GONE_MS} ms after its SIGKILL`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await dead.dispose()
  }

  get isUp(): boolean {
    return this.#miniflare !== undefined
  }

  get miniflare(): Miniflare {
    if (!this.#miniflare) throw new Error('this workerd was killed; start() it again')
    return this.#miniflare
  }

  async post<T>(path: string, body: unknown): Promise<T> {
    const response = await this.miniflare.dispatchFetch(`http://edge${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

  /** Calls in one request to the Worker, through one `workerFetch`; `options.token` is what its `credentials` give the origins of the calls, `options.secret` what it signs with. */
  calls(calls: readonly Call[], options: Readonly<Record<string, unknown>> = {}, queue = 'REDRIVE'): Promise<Answers> {
    return this.post('/call', { calls, options, queue })
  }

  /** The same as any client would send it. */
  async url(path: string): Promise<URL> {
    return new URL(path, await this.miniflare.ready)
  }

  /** One of them. */
  async call(url: string, init?: Call['init'], options: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    const { answers, refused } = await this.calls([{ url, ...(init ? { init } : {}) }], options)
    if (refused) throw new Error(refused.message)
    return answers[0] as Answer
  }

  /** Its cron trigger fires. */
  async scheduled(cron: string): Promise<unknown> {
    return await (await this.#triggers()).scheduled({ cron })
  }

  /** A queue delivers these. */
  async deliver(bodies: readonly string[]): Promise<unknown> {
    const messages = bodies.map((body) => ({ id: body, timestamp: new Date(0), body, attempts: 1 }))
    return await (await this.#triggers()).queue('orders', messages)
  }

  async #triggers(): Promise<Triggers> {
    return (await this.miniflare.getWorker()) as unknown as Triggers
  }

  object(where: Where): EdgeObject {
    return new EdgeObject(this, where)
  }

  async evict({ origin, principal = null, shard }: Where): Promise<void> {
    const name = await this.post<{ value: string }>('/name', { origin, principal, shard })
    await this.miniflare.unsafeEvictDurableObject('edge', 'Outbox', { name: name.value })
  }

  /** How many objects keep something. */
  objects(): number {
    const paths = this.files().map(({ path }) => path)
    return paths.filter((path) => /do\/edge-Outbox\/[0-9a-f]{64}\.sqlite$/.test(path) && this.#hasTables(path)).length
  }

  #hasTables(path: string): boolean {
    const database = new DatabaseSync(join(this.#folder, path), { readOnly: true })
    try {
      const names = database
        .prepare('SELECT name FROM sqlite_master')
        .all()
        .map(({ name }) => String(name))
      // workerd has tables of its own
      return names.some((name) => !name.startsWith('_cf'))
    } finally {
      database.close()
    }
  }

  /** Every file of the storage as it lies on the disk now. */
  files(): readonly { readonly path: string; readonly bytes: Uint8Array }[] {
    return readdirSync(this.#folder, { recursive: true })
      .map(String)
      .filter((path) => statSync(join(this.#folder, path)).isFile())
      .map((path) => ({ path, bytes: readFileSync(join(this.#folder, path)) }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare?.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
