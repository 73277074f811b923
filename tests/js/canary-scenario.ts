/**
 * Every way a request can go through a queue with a store, with a secret in every place that can hold one; and everything
 * that was told or thrown meanwhile. Nothing of Node's: the same runs in a page. Who extends it says where the store is
 * and how to look at what was written.
 */

import axios from 'axios'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { type Credentials, type GiveCredentials, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import { Canaries, type Shape } from './canaries.ts'
import { DENIED, LOOKED_INTO } from './canary-slots.ts'
import { EVENT_NAMES } from './event-names.ts'

/** Harmless, and kept: who finds none of them has looked in the wrong place. */
export const MARKERS = { header: 'marker-in-a-header', path: 'marker-in-a-path', body: 'marker-in-a-body' } as const

const DENIED_EACH = 5

/** Parameters that are secrets, of the less plain names. */
const NAMES = [
  'code',
  '%63ode',
  'subscription-key',
  'code_verifier',
  'device_code',
  'oobCode',
  'consumer_key',
  'app_key',
  'user_key',
  'ticket',
  'user[pin]',
  'cvv',
  'ssn',
  'dsn',
]

type Make = (slot: string, shape?: Shape) => string

export interface Init {
  readonly method: 'POST'
  readonly body: string
  readonly headers: Record<string, string>
}

export interface Told {
  readonly where: string
  readonly text: string
}

/** It has a name, so its attempts are those of tasks, too. */
const SHORT = {
  policyId: 'default',
  strategy: 'fixed',
  initialDelayMs: 1,
  jitterType: 'NONE',
  maxAttempts: 3,
} as const
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const

export abstract class Scenario {
  readonly canaries: Canaries = new Canaries()
  readonly told: Told[] = []
  readonly #said = new Set<string>()
  readonly #ids = new Set<string>()
  readonly #open: RetryQueue[] = []
  #calls = 0

  /** Of the server, which listens on several addresses. */
  abstract get port(): number
  /** What makes a queue one of this device, and this user. */
  protected abstract device(): RetryQueueOptions
  protected abstract readonly axiosAdapter: 'http' | 'xhr'
  /** Keeps what lies on the disk now. */
  abstract snapshot(when: string): Promise<void>
  /** Whether `/down` answers with a success from now on. */
  abstract serverIs(state: 'up' | 'down'): Promise<void>
  /** Waits until `read` gives `wanted`. */
  protected abstract until(read: () => Promise<unknown>, wanted: unknown): Promise<void>

  async end(): Promise<void> {
    for (const queue of this.#open) await queue.close({ drainMs: 0 })
  }

  /** One more process, as far as the store can tell. */
  async queue(options: RetryQueueOptions = {}): Promise<RetryQueue> {
    const queue = new RetryQueue({
      ...this.device(),
      preload: 'never',
      breaker: false,
      ...options,
      policy: { ...SHORT, ...options.policy },
    })
    for (const name of EVENT_NAMES) queue.on(name, (payload) => this.tell(`event ${name}`, payload))
    queue.on('queued', ({ task }) => this.#ids.add(task.taskId))
    this.#open.push(queue)
    await queue.ready
    return queue
  }

  async close(queue: RetryQueue): Promise<void> {
    await this.look(queue)
    await this.snapshot('before a close')
    await queue.close({ drainMs: 0 })
    this.#open.splice(this.#open.indexOf(queue), 1)
    await this.snapshot('after a close')
  }

  tell(where: string, what: unknown): void {
    const shown = what instanceof Error ? [what.name, what.message, what.stack, String(what.cause), what] : what
    const text = JSON.stringify(shown) ?? ''
    if (this.#said.has(`${where} ${text}`)) return
    this.#said.add(`${where} ${text}`)
    this.told.push({ where, text })
  }

  /** The same of a request whose secrets need not arrive: it is not sent, or `credentials` gives others. */
  unsent(flow: string): ReturnType<Scenario['init']> {
    return this.init(flow, (slot, shape) => this.canaries.make(slot, shape))
  }

  /** A request with a secret in every header that is denied or looked into. */
  init(flow: string, make: Make = (slot, shape) => this.canaries.makeSent(slot, shape)): Init {
    const headers: Record<string, string> = {
      'x-correlation-id': `${MARKERS.header} ${flow}`,
      'content-type': 'application/json',
    }
    const from = this.#calls++ * DENIED_EACH
    for (let i = from; i < from + DENIED_EACH; i++) {
      const name = DENIED[i % DENIED.length] as string
      headers[name] = make(`${flow}: ${name}`)
    }
    for (const [name, shape] of LOOKED_INTO) headers[name] = make(`${flow}: ${name}`, shape)
    headers.baggage = `tenant=acme,userToken=${make(`${flow}: baggage`, 'hex')}`
    return { method: 'POST', body: JSON.stringify({ said: MARKERS.body, flow }), headers }
  }

  /** The option `credentials` with an entry for each origin of the server. */
  everywhere(give: GiveCredentials): Credentials {
    return Object.fromEntries(HOSTS.map((host) => [`http://${host}:${this.port}`, give]))
  }

  /** What holds or fills its lane has an origin of its own. */
  url(kind: string, rest = ''): string {
    const [first, second, third] = HOSTS
    const host = kind === 'later' ? second : kind === 'hang' ? third : first
    return `http://${host}:${this.port}/${kind}/${MARKERS.path}-${++this.#calls}${rest}`
  }

  /** A query and a fragment full of secrets. */
  secrets(flow: string, stripped = false): string {
    const make = (slot: string) =>
      encodeURIComponent(
        stripped ? this.canaries.make(`${flow}: ${slot}`) : this.canaries.makeSent(`${flow}: ${slot}`, 'hex'),
      )
    const names = ['token', 'sig', 'access_token', 'X-Amz-Signature', 'key', 'password', ...NAMES]
    const query = names.map((name) => `${name}=${make(name)}`)
    const packed = encodeURIComponent(`https://b.test/?code=${make('a URL in a value')}`)
    query.push(`next=${packed}`, `filter=${encodeURIComponent(`{"access_token":"${make('JSON in a value')}"}`)}`)
    const unsent = encodeURIComponent(this.canaries.make(`${flow}: fragment`))
    return `?page=2&${query.join('&')}#id_token=${unsent}`
  }

  /** Ends of paths with a secret in each. */
  paths(flow: string): readonly string[] {
    const make = (slot: string) => this.canaries.makeSent(`${flow}: ${slot}`, 'hex')
    return [
      `/bot123456:${make('a bot')}/sendMessage`,
      `/bot123456%3A${make('a bot, escaped')}/sendMessage`,
      `/api/webhooks/123456789012345678/${make('a webhook')}`,
      `/services/T00000000/B00000000/${make('another webhook')}`,
      `/cart;jsessionid=${make('a session')}?page=1`,
      `/cart;v=1;%6Asessionid=${make('a session, escaped')}/items`,
      `/d/ghp_${make('a token')}`,
    ]
  }

  async enqueue(queue: RetryQueue, url: string, init: RequestInit): Promise<string> {
    const receipt = await queue.enqueue(url, init)
    this.tell('receipt', receipt)
    this.#ids.add(receipt.taskId)
    return receipt.taskId
  }

  async outcome(queue: RetryQueue, taskId: string): Promise<string> {
    const outcome = await queue.result(taskId)
    this.tell('outcome', outcome)
    if (outcome.error) this.tell('error of an outcome', outcome.error)
    return outcome.task.reason ?? outcome.task.status
  }

  /** `attempts`: begun so far; a task is PENDING before its first, too. */
  async status(queue: RetryQueue, taskId: string, status: string, attempts: number): Promise<void> {
    const read = async () => {
      const task = await queue.get(taskId)
      return `${task?.status} ${task?.attemptNumber}`
    }
    await this.until(read, `${status} ${attempts}`)
  }

  /** What the queue must refuse. */
  async refused(call: Promise<unknown>): Promise<void> {
    const error = await call.then(
      () => new Error('was not refused'),
      (thrown: unknown) => thrown,
    )
    this.tell('thrown error', error)
    if ((error as Error).message === 'was not refused') throw error
  }

  /** Asks the queue everything there is to ask. */
  async look(queue: RetryQueue): Promise<void> {
    for (let cursor: string | undefined; ; ) {
      const page = await queue.list({ limit: 50, ...(cursor ? { cursor } : {}) })
      this.tell('list', page)
      for (const { taskId } of page.tasks) this.#ids.add(taskId)
      if (!page.cursor) break
      cursor = page.cursor
    }
    for (const taskId of this.#ids) {
      this.tell('get', await queue.get(taskId))
      this.tell('attempts', await queue.attempts(taskId))
      this.tell('explain', await queue.explain(taskId))
    }
    this.tell('dead letters', await queue.deadLetters.list())
    this.tell('export', await queue.deadLetters.export())
    this.tell('stats', queue.stats())
  }

  axios(queue: RetryQueue): ReturnType<typeof axios.create> {
    const api = axios.create({ adapter: this.axiosAdapter })
    attachToAxios(api, queue)
    return api
  }
}
