/** Calls of a running service over HTTP, and its refusals as one sentence that says what to do. */

import { harmless, loadCore, systemClock } from 'redrive/internal'
import { type AnyTable, type FlagTable, own } from './flag.ts'
import { CommandError, type Io, reasonOf, UsageError } from './io.ts'
import type { Tools } from './kinds.ts'
import * as kinds from './kinds.ts'
import { readFlags, type Words } from './read-flags.ts'

export interface ClientFlags {
  readonly url: string
  readonly token: string | undefined
  readonly json: boolean
}

/** Throws a TypeError that says more. */
function isUrl(value: string): boolean {
  if (!/^https?:\/\/./.test(value) || !URL.canParse(value)) return false
  const { username, password } = new URL(value)
  if (username || password) throw new TypeError('expected a URL without a user; who calls is said by --token')
  return true
}

export const CLIENT_FLAGS: FlagTable<ClientFlags> = {
  url: {
    inFile: false,
    kind: kinds.text('an http(s) URL', { placeholder: 'URL', ok: isUrl }),
    default: 'http://127.0.0.1:7733',
    help: 'Where the service listens (or REDRIVE_URL)',
  },
  token: {
    inFile: false,
    kind: kinds.token,
    help: 'Token to call it with; REDRIVE_TOKEN keeps it out of the list of processes',
  },
  json: { ...own, kind: kinds.toggle, default: false, help: 'Prints the answer as JSON' },
}

/** Flags of a command over HTTP. The core is loaded only where a flag that was given needs it. */
export async function clientFlags<V>(table: FlagTable<V>, words: Words, io: Io): Promise<V> {
  const needsCore = [...words.flags.keys()].some((key) => (table as AnyTable)[key]?.kind.needsCore)
  const tools: Tools = needsCore ? await loadCore() : { parseDuration: Number }
  return readFlags(table, { words, env: io.env, tools }).values
}

/** The one word that a command is about. */
export function onlyWord(words: Words, name: string, what: string): string {
  const [first, second] = words.positionals
  if (first === undefined) throw new UsageError(`${name}: a ${what} is missing`)
  if (second !== undefined) throw new UsageError(`${name}: expected one ${what}, got '${first}' and '${second}'`)
  return first
}

/** The task that a command is about, by its id or its key. */
export const taskWord = (words: Words, name: string): string => onlyWord(words, name, 'task id or idempotency key')

/** An id as ids are made; a key may look like one. */
const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

interface KeptTask {
  readonly taskId?: unknown
  readonly status?: unknown
  readonly tenant?: unknown
}

/** The service answered 404. */
class NotFoundError extends CommandError {}

export function noWords(words: Words, name: string): void {
  const [first] = words.positionals
  if (first !== undefined) throw new UsageError(`${name}: unexpected '${first}'`)
}

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

interface Call {
  readonly query?: Query
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Longest wait for the beginning of an answer. @default 30_000 */
  readonly timeoutMs?: number
  /** A status that is an answer, too. */
  readonly also?: number
}

export interface Answer {
  readonly status: number
  /** undefined: there is none. */
  readonly json: unknown
}

export class Client {
  readonly #base: URL
  readonly #token: string | undefined

  constructor({ url, token }: Pick<ClientFlags, 'url' | 'token'>) {
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`)
    this.#token = token
  }

  /** Rejects with a CommandError for every answer but 2xx. */
  async call(method: string, path: string, call: Call = {}): Promise<Answer> {
    const response = await this.#send(method, path, call)
    const text = await this.#read(() => response.text())
    if (!response.ok && response.status !== call.also) throw this.#refusal(response, text)
    return { status: response.status, json: text === '' ? undefined : this.#parsed(text) }
  }

  /** `call` about one task below `base`: that of this id or, where there is none, the one that keeps this key. */
  async callTask(method: string, base: string, word: string, path = '', call: Call = {}): Promise<Answer> {
    const about = (taskId: string): Promise<Answer> => this.call(method, `${base}/${taskId}${path}`, call)
    if (!ID.test(word)) return about(await this.#idOf(word))
    try {
      return await about(word)
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
      const taskId = await this.#idOf(word).catch(() => {
        throw error
      })
      return about(taskId)
    }
  }

  /** The task that keeps a key, or the latest that was cancelled under it. */
  async #idOf(key: string): Promise<string> {
    const found: KeptTask[] = []
    let cursor: string | undefined
    do {
      const query = { idempotencyKey: key, ...(cursor && { cursor }) }
      const { json } = await this.call('GET', '/retry-tasks', { query })
      const page = (json ?? {}) as { readonly tasks?: readonly KeptTask[]; readonly cursor?: string }
      found.push(...(page.tasks ?? []))
      cursor = page.cursor
      // a page may be empty, and the list go on
    } while (cursor && found.length === 0)
    const live = found.filter(({ status }) => status !== 'CANCELLED')
    const first = live[0] ?? found[0]
    if (!first) {
      throw new CommandError(`no task has the id or the key '${key}'; redrive task list shows what there is`)
    }
    // in partitions by origin or policy a tenant may have several
    const another = found.find(({ tenant }) => tenant !== first.tenant) ?? live[1]
    if (another) {
      const names = [first, another].map(({ taskId, tenant }) => `${taskId} (${tenant ?? 'no tenant'})`)
      throw new CommandError(`several tasks have the key '${key}': ${names.join(', ')}; name one by its id`)
    }
    return encodeURIComponent(String(first.taskId))
  }

  /** The bytes of an answer as they come. */
  async *stream(path: string, call: Call = {}): AsyncGenerator<Uint8Array> {
    const response = await this.#send('GET', path, call)
    if (!response.ok) throw this.#refusal(response, await this.#read(() => response.text()))
    try {
      for await (const piece of response.body ?? []) yield piece as Uint8Array
    } catch (error) {
      throw new CommandError(`${this.#name} broke off (${causeOf(error)}); what came before is not all`)
    }
  }

  get #name(): string {
    return `${this.#base.origin}${this.#base.pathname.replace(/\/$/, '')}`
  }

  async #send(
    method: string,
    path: string,
    { query = {}, json, headers, timeoutMs = 30_000 }: Call,
  ): Promise<Response> {
    const url = new URL(path.replace(/^\//, ''), this.#base)
    for (const [name, value] of Object.entries(query)) {
      for (const each of [value].flat()) if (each !== undefined) url.searchParams.append(name, String(each))
    }
    const limit = new AbortController()
    const late = () => limit.abort(new Error(`no answer within ${timeoutMs / 1_000} s`))
    const disarm = systemClock.after(timeoutMs, late)
    try {
      return await fetch(url, {
        method,
        // a token belongs to one origin, and goes nowhere else
        redirect: 'manual',
        signal: limit.signal,
        headers: {
          accept: 'application/json',
          ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      })
    } catch (error) {
      throw new CommandError(
        `${this.#name} does not answer (${causeOf(error)}); start redrive there, or name another with --url or REDRIVE_URL`,
      )
    } finally {
      disarm()
    }
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      throw new CommandError(`${this.#name} broke off its answer (${causeOf(error)}); ask again`)
    }
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      throw new CommandError(`${this.#name} answered with something else than JSON; is it redrive that listens there?`)
    }
  }

  #refusal({ status, statusText, headers }: Response, text: string): CommandError {
    const problem = problemIn(text, headers.get('content-type'))
    if (problem) {
      const sentence = sentenceOf(problem, status, headers.get('retry-after'))
      return status === 404 ? new NotFoundError(sentence) : new CommandError(sentence)
    }
    const what = `${status} ${statusText}`.trim()
    const moved = status >= 300 && status < 400 ? ` and leads to ${headers.get('location')}; name that with --url` : ''
    return new CommandError(harmless(`${this.#name} answered ${what}${moved || '; is it redrive that listens there?'}`))
  }
}

/** Problem details, RFC 9457. */
interface Problem {
  readonly type?: string
  readonly title?: string
  readonly detail?: string
  readonly instance?: string
  readonly errors?: readonly { readonly pointer?: string; readonly detail?: string }[]
}

function problemIn(text: string, type: string | null): Problem | undefined {
  if (!/^application\/(problem\+)?json/.test(type ?? '')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** The part that is done here, in the words of this program. */
const ADVICE: Readonly<Record<string, string>> = {
  unauthorized: 'give a token with REDRIVE_TOKEN or --token',
  forbidden: 'use a token with the scope that this needs',
  'not-found': 'redrive task list shows what there is',
  'wrong-host': 'name one of them with --url or REDRIVE_URL',
  'key-expired': '--accept-duplicate-risk sends it all the same',
  'count-changed': 'list again, and give the new count with --confirm',
  'operation-running': 'wait until that one has ended',
}

function sentenceOf(
  { type = '', title, detail, instance, errors = [] }: Problem,
  status: number,
  wait: string | null,
): string {
  const kind = type.replace(/^.*[:/]/, '')
  const wrong = Array.isArray(errors) ? errors.map(({ pointer, detail }) => `${pointer}: ${detail}`) : []
  const whole = detail ?? title ?? `the service refused with ${status}`
  // it may be no more than the first of them
  const said = (wrong[0] && whole.startsWith(wrong[0]) ? wrong : [whole, ...wrong]).join('; ')
  const advice = wait !== null ? `try again in ${wait} s` : ADVICE[kind]
  const marks = [`${status}${kind && ` ${kind}`}`, instance && `request ${instance}`].filter(Boolean).join(', ')
  return harmless(`${said.replace(/\.$/, '')}${advice ? `; ${advice}` : ''} (${marks})`)
}

/** The reason of a failed fetch is its cause: the error itself says no more than that. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const code = (cause as { readonly code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : reasonOf(cause)
}
