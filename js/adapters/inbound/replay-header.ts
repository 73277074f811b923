/**
 * The mark of a replay: `redrive-replay: <taskId>.<attempt>.<HMAC>`. A handler that fails for a replay would enqueue the same request
 * again, and again, so a request whose mark is the queue's own is never kept. The mark is made for each attempt and is stored nowhere.
 */

import { laidOver } from '../../call/transport.ts'
import { unsaid } from '../../platform/error-text.ts'
import { utf8 } from '../../platform/utf8.ts'
import { internalsOf } from '../../queue/internals.ts'
import { observe } from '../../queue/observe.ts'

export const REPLAY_HEADER = 'redrive-replay'

const SHAPE = /^([\da-f-]{36}\.\d{1,10})\.([\da-f]{64})$/
const HMAC = { name: 'HMAC', hash: 'SHA-256' }
const SECRET_BYTES = 32

export class ReplayMarks {
  readonly #secret: Uint8Array<ArrayBuffer> | undefined
  #key: Promise<CryptoKey> | undefined

  /** undefined: one of this process, drawn when it is first needed, since Workers draw none while their modules load. */
  constructor(secret?: string | Uint8Array) {
    this.#secret = typeof secret === 'string' ? utf8(secret) : secret && new Uint8Array(secret)
  }

  /** The mark of an attempt. */
  async make(taskId: string, attemptNumber: number): Promise<string> {
    const about = `${taskId}.${attemptNumber}`
    const digest = await crypto.subtle.sign(HMAC, await this.#imported(), signedText(about))
    return `${about}.${hexOf(new Uint8Array(digest))}`
  }

  /** Whether a mark was made with this secret. */
  async isOwn(mark: string | null): Promise<boolean> {
    const [, about, digest] = SHAPE.exec(mark ?? '') ?? []
    if (about === undefined || digest === undefined) return false
    return crypto.subtle.verify(HMAC, await this.#imported(), bytesOf(digest), signedText(about))
  }

  #imported(): Promise<CryptoKey> {
    const secret = this.#secret ?? crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
    this.#key ??= crypto.subtle.importKey('raw', secret, HMAC, false, ['sign', 'verify'])
    return this.#key
  }
}

const drawn = new WeakMap<object, ReplayMarks>()

/** The marks of a queue by the secret that was given, else by the one that all middleware of that queue shares. */
export function marksOf(queue: object, secret: string | Uint8Array | undefined): ReplayMarks {
  const marks = (secret === undefined && drawn.get(queue)) || new ReplayMarks(secret)
  if (secret === undefined) drawn.set(queue, marks)
  return marks
}

/** Puts a mark into each repeat of `queue` that goes to `origin`, and into nothing that is stored. */
export function markRepeats(queue: object, origin: string, marks: ReplayMarks): void {
  const { degraded } = internalsOf(queue).host
  observe(queue, {
    async attempt(call, plan, next) {
      const { task, isReplay } = plan
      if (!task || !isReplay || call.origin !== origin) return next()
      const mark = await marks.make(task.taskId, task.attemptNumber).catch((error) => {
        // it goes without: its key tells what it is
        degraded('hook_threw', `no mark could be made of a repeat (${unsaid(error)}): it is sent without`, origin)
      })
      if (mark) plan.overlay = laidOver(plan.overlay ?? new Headers(), new Headers({ [REPLAY_HEADER]: mark }))
      return next()
    },
  })
}

/** The name is in it, so that a secret with other uses signs nothing else here. */
const signedText = (about: string): Uint8Array<ArrayBuffer> => utf8(`${REPLAY_HEADER}: ${about}`)
const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
