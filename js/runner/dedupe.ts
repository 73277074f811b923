/**
 * Finds the task that a call repeats. It goes by the key, and for the same key by a fingerprint of the request: the same
 * request is one task, another request under the same key is a mistake that no server should see (S6).
 */

import type { RedriveError } from '../api/errors.ts'
import type { Call } from '../call/call.ts'
import { repeatableOf } from '../call/fetch-repeat.ts'
import { putKey } from '../call/key.ts'
import { type KeyMaterial, materialOf, printed } from '../call/material.ts'
import type { ContentKeys } from '../core/content-keys.ts'
import type { Keys } from '../core/keys.ts'
import { DAY_MS, systemClock, within } from '../platform/clock.ts'
import { errorText } from '../platform/error-text.ts'
import { digestOfHost } from '../platform/host-digest.ts'
import type { Registry } from '../tasks/registry.ts'
import type { Task } from '../tasks/task.ts'
import type { QueueContext } from './context.ts'
import { areElsewhere, keyConflict } from './key-conflict.ts'

/** A call waits no longer for the module. Real time, whatever the clock. */
const LOAD_MS = 10_000
/** Nor does the opening of a store, for which calls wait as long. */
const AHEAD_MS = 5_000
/** Headers that are another with each request of one user. */
const CHANGING = /[cx]srf|sign|hmac/

export class Dedupe {
  readonly #host: QueueContext
  readonly #registry: Pick<Registry, 'withKey'>
  readonly #loadKeys: () => Promise<Keys>
  /** Pages need no module of keys for a fingerprint where they have this. */
  readonly #digest = digestOfHost()
  #keys: Keys | undefined
  #content: ContentKeys | undefined

  constructor(host: QueueContext, registry: Pick<Registry, 'withKey'>, loadKeys: () => Promise<Keys>) {
    this.#host = host
    this.#registry = registry
    this.#loadKeys = loadKeys
  }

  /** Gives a call in content mode its key. Without the module that makes it, the call goes out without one, once. */
  async giveKey(call: Call): Promise<void> {
    const { idempotency } = this.#host.settings
    const key = await this.#keyOf(call)
    if (key === undefined) {
      call.key = null
      call.replayable = false
      return
    }
    call.key = key
    const { header } = idempotency
    putKey(call.headers, key, idempotency)
    repeatableOf(call).putHeader(header, call.headers.get(header) ?? key)
  }

  async #keyOf(call: Call): Promise<string | undefined> {
    const { windowMs = DAY_MS, scope, scopeKey } = this.#host.settings.idempotency
    const { principal } = call
    // while no one is signed in nothing tells two users apart
    if (principal === null && scope === undefined) return this.#host.makeKey()
    const material = await materialOf(call)
    return this.#ask((keys) => {
      this.#content ??= keys.ofContent(windowMs)
      const { key, fingerprint } = this.#content.of(
        material,
        { principal, scope: scope ?? '', scopeKey },
        this.#host.now(),
      )
      call.fingerprint = fingerprint
      return key
    })
  }

  /** The task that has this call's key, if there is one. Rejects with IdempotencyConflictError if it is of another request. */
  async find(call: Call): Promise<Task | undefined> {
    for (;;) {
      const task = call.key ? this.#registry.withKey(call.principal, call.key, this.#host.now()) : undefined
      if (!task) return undefined
      const other = await this.#otherThan(call, task)
      // it may have ended and gone, or another come, while the two were compared
      if (this.#registry.withKey(task.principal, task.key ?? '', this.#host.now()) !== task) continue
      if (other === undefined) return task
      throw keyConflict(call, other, areElsewhere(task.about.url, call.url))
    }
  }

  /** Notes the call's fingerprint for when the task has ended and dropped its request. Nothing waits for that. */
  remember(task: Task, call: Call): void {
    const known = this.#identify(call).then(() => {
      // its call, or what is left of that
      Object.assign(task.about, { fingerprint: call.fingerprint, sender: call.sender })
    })
    // a body that cannot be read is a matter of the attempt; the task is told apart by method and URL then
    known.catch(() => {})
  }

  /**
   * Loads the module of keys ahead of time where stored tasks need it, since offline no chunk can be fetched: for keys made of the content, and
   * for fingerprints where the host has no SHA-256. Resolves with whether all that is needed is here.
   */
  async load(): Promise<boolean> {
    if (this.#digest && this.#host.settings.idempotency.mode !== 'content') return true
    return !!(await this.#ask(() => true, AHEAD_MS))
  }

  /** A digest that tells the call from others under its key; undefined: what makes it cannot be loaded. */
  async fingerprint(call: Call): Promise<string | undefined> {
    call.fingerprint ??= await this.#print(await materialOf(call))
    return call.fingerprint
  }

  async #print(material: KeyMaterial): Promise<string | undefined> {
    const bytes = printed(material)
    try {
      if (this.#digest) return await this.#digest(bytes)
    } catch {
      // no memory for a copy of these bytes, say: the module may have it
    }
    return this.#ask((keys) => keys.sha256(bytes))
  }

  /** The words for what the task is, if another request than the call; undefined: they are one. */
  async #otherThan(call: Call, task: Task): Promise<string | undefined> {
    await this.#identify(call)
    // it may end, and let go of its request, meanwhile
    const { call: known } = task
    if (known) {
      await this.#identify(known)
    }
    const about = known ?? task.about
    const { fingerprint, sender = call.sender } = about
    // an ended task whose key the queue made keeps no request: what it was sent to has to do
    if (fingerprint === undefined || call.fingerprint === undefined) {
      return about.method === call.method && about.url === call.url ? undefined : task.what
    }
    if (fingerprint !== call.fingerprint) return task.what
    // one user's task, and its answer, are not another's
    return sender === call.sender
      ? undefined
      : `${task.what} with other credentials (a principal would say whose it is)`
  }

  async #identify(call: Call): Promise<void> {
    await this.fingerprint(call)
    if (call.sender !== undefined) return
    const said = this.#credentialsIn(call)
    const { method, url } = call
    call.sender = said === '' ? said : await this.#print({ method, url, contentType: '', body: said })
  }

  /** The credentials that tell two users apart where no principal does. */
  #credentialsIn({ principal, headers }: Call): string {
    if (principal !== null) return ''
    const { withheld = [] } = this.#host.sanitizer?.headers(headers) ?? {}
    return withheld
      .filter((name) => !CHANGING.test(name))
      .map((name) => `${name}: ${headers.get(name)}\n`)
      .join('')
  }

  /** Asks the module of keys; undefined: it cannot be had, or it trapped over this very question. */
  async #ask<T>(question: (keys: Keys) => T, withinMs = LOAD_MS): Promise<T | undefined> {
    let keys: Keys
    try {
      this.#keys ??= await within(systemClock, withinMs, 'loading it', this.#loadKeys())
      keys = this.#keys
      await keys.ready
    } catch (error) {
      this.#without('could not be loaded', error)
      return undefined
    }
    try {
      return question(keys)
    } catch (error) {
      if ((error as RedriveError).code !== 'CORE_TRAPPED') throw error
      this.#without('trapped', error)
      return undefined
    }
  }

  #without(what: string, error: unknown): void {
    const message = `the module of keys ${what} (${errorText(error)}): a call is compared by method and URL; with mode 'content' it is sent once, without a key`
    this.#host.degraded('core_unreachable', message, `keys ${what}`)
  }
}
