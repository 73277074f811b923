/**
 * Objects that this isolate has moved tasks to. What a server asks of a call that makes no task (a GET, one whose caller
 * waits, a success after which nothing is left) they hear of it at once, so that their tasks wait with it.
 *
 * An object that this isolate has given nothing hears of none: for most calls there is none, and to ask would make one.
 */

import type { Call } from '../call/call.ts'
import { objectName, type RedriveNamespace, stubOf } from './namespace.ts'

/** A Worker that calls whatever it is asked to must not grow: past so many, those go that took nothing for longest. */
const MOST_OBJECTS = 1_000
/** A hold that each answer extends a little is reported no more often. */
const TELL_AGAIN_MS = 1_000

export interface Binding {
  readonly namespace: RedriveNamespace
  readonly shards: number
  /** Keeps a message to an object alive after the caller was answered. */
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** Moments until which each object has to wait, by its name. */
const heldUntil = new Map<string, number>()

/** Takes note that an object has a task. */
export function hasTaken(name: string): void {
  const until = heldUntil.get(name) ?? 0
  heldUntil.delete(name)
  heldUntil.set(name, until)
  if (heldUntil.size <= MOST_OBJECTS) return
  const [first] = heldUntil.keys()
  if (first !== undefined) heldUntil.delete(first)
}

/** Tells the objects of a call's principal and origin that their server asks all callers to wait for `forMs`. */
export function tellHold({ namespace, shards, waitUntil }: Binding, call: Call, now: number, forMs: number): void {
  if (heldUntil.size === 0) return
  const { principal, origin } = call
  const until = now + forMs
  for (let shard = 0; shard < shards; shard++) {
    const name = objectName(principal, origin, shards === 1 ? undefined : shard)
    const known = heldUntil.get(name)
    if (known === undefined || until < known + TELL_AGAIN_MS) continue
    heldUntil.set(name, until)
    // it was restarted, or is of an earlier version that has no such method: the next answer tells it, or its own attempts do
    waitUntil(sendHold(namespace, name, forMs).catch(() => unmark(name, until)))
  }
}

async function sendHold(namespace: RedriveNamespace, name: string, forMs: number): Promise<void> {
  await stubOf(namespace, name).holdLane(forMs)
}

/** Forgets that an object has to wait, unless it has to wait for longer by now. */
function unmark(name: string, until: number): void {
  if (heldUntil.get(name) === until) heldUntil.set(name, 0)
}
