/** Finds the Durable Object of a task, and checks that the binding is a namespace of such objects. */

import type { NewTask } from '../api/store.ts'
import { follow, int, origin as ORIGIN, type Rule, show } from '../options/check.ts'
import { PRINCIPAL } from '../options/queue-rules.ts'

/** A Durable Object namespace whose class is `RedriveObject`, or extends it. */
export interface RedriveNamespace {
  idFromName(name: string): object
  get(id: never): object
}

/** An object's answer for one task that it was given. */
export interface Taken {
  readonly taskId: string
  /** 'refused': nothing was stored, `code` and `message` say why. The others as `TaskStore.enqueue` has them. */
  readonly outcome: 'stored' | 'duplicate' | 'conflict' | 'full' | 'refused'
  /** With 'duplicate': the task that has the key has ended, so no further attempt will come. */
  readonly hasEnded?: boolean
  /** With 'conflict': the task that has the key goes to another URL. */
  readonly isElsewhere?: boolean
  /** With 'full': how many of the tasks that take the room are dead letters. */
  readonly deadLetters?: number
  readonly code?: string
  readonly message?: string
}

/** Why an object takes no task at all. */
export interface ObjectFault {
  readonly code: string
  readonly message: string
}

/** The methods of an object that a Worker calls. */
export interface RedriveStub {
  enqueue(tasks: readonly NewTask[]): Promise<readonly Taken[]>
  cancel(taskId: string): Promise<'cancelled' | 'requested' | 'gone'>
  holdLane(forMs: number): Promise<void>
  verify(): Promise<ObjectFault | undefined>
}

export const SHARDS: Rule = int(1, 256)
const SHARD: Rule = int(0, 255)

/** Whom an object keeps tasks for. */
export interface ObjectOwner {
  readonly principal: string | null
  readonly origin: string
  readonly shard: number | undefined
}

/**
 * The name of the object that keeps the tasks of a principal for an origin: `https://api.example`, with a principal
 * `https://api.example user-7`, with a shard `https://api.example #3`. The principal is percent-encoded, so that no two owners
 * have the same name. Throws a TypeError or RangeError where `origin` is not what `new URL(...).origin` writes, `principal` is
 * no well-formed text, or `shard` is not 0 to 255.
 */
export function objectName(principal: string | null, origin: string, shard?: number): string {
  follow('objectName: principal', principal, PRINCIPAL)
  follow('objectName: origin', origin, ORIGIN)
  if (shard !== undefined) follow('objectName: shard', shard, SHARD)
  const parts = [origin]
  if (principal !== null) parts.push(encodeURIComponent(principal))
  if (shard !== undefined) parts.push(`#${shard}`)
  return parts.join(' ')
}

/** Reads a name that `objectName` has made; undefined: it has not made this one. */
export function readObjectName(name: string): ObjectOwner | undefined {
  const [origin = '', ...rest] = name.split(' ')
  const last = rest.at(-1)
  const shard = last?.startsWith('#') ? Number(rest.pop()?.slice(1)) : undefined
  const [principal] = rest
  try {
    const owner = { principal: principal === undefined ? null : decodeURIComponent(principal), origin, shard }
    return objectName(owner.principal, origin, shard) === name ? owner : undefined
  } catch {
    return undefined
  }
}

/** Chooses the shard of a task: tasks of one order, and those of one key, share an object. */
export function shardOf({ orderKey, idempotencyKey, taskId }: NewTask, shards: number): number | undefined {
  if (shards === 1) return undefined
  let hash = 0
  for (const character of orderKey ?? idempotencyKey ?? taskId) hash = (hash * 31 + character.charCodeAt(0)) >>> 0
  return hash % shards
}

/** Throws a TypeError that shows the configuration where the value cannot be such a namespace. */
export function checkNamespace(what: string, value: unknown): void {
  const { idFromName, get } = (value ?? {}) as Partial<Record<keyof RedriveNamespace, unknown>>
  if (typeof idFromName === 'function' && typeof get === 'function') return
  const remedy =
    'bind one in wrangler.jsonc: "durable_objects": { "bindings": [{ "name": "REDRIVE", "class_name": "Outbox" }] }, ' +
    '"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Outbox"] }], where Outbox is your class that extends RedriveObject'
  throw new TypeError(`${what}: expected a Durable Object namespace of RedriveObject, got ${show(value)}; ${remedy}`)
}

export function stubOf(namespace: RedriveNamespace, name: string): RedriveStub {
  return namespace.get(namespace.idFromName(name) as never) as RedriveStub
}
