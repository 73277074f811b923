/**
 * The live view of a service: what happens to its tasks, sent to its listeners. No part of it is a log: an event without a listener is gone. While
 * anyone listens, or has until a moment ago, the latest events are kept, so that a listener whose connection broke goes on where it was.
 *
 * Where the store carries messages between its processes, a listener hears all of them. A process with listeners says so every few
 * seconds, and only then do the others send: without listeners no event is so much as made.
 */

import { hash } from 'node:crypto'
import type { Clock } from 'redrive'
import type { Broadcast, Enqueued, NewTask } from 'redrive/store'
import { commentText, eventText, FeedStream } from './stream.ts'
import type { Asked, FeedEvent, Listening } from './types.ts'

/** Events that are kept for those who come back. */
const RING = 1_000
export const MOST_LISTENERS = 100
/** For so long after the last listener has left events are kept: its connection may have broken. */
const LINGER_MS = 60_000
/** Between two words of a process that has listeners. */
const SAY_MS = 5_000
/** Another process that has said so is sent events for so long. */
const HEARD_MS = 15_000
/** Between two comments that keep a quiet connection, and two looks at whether its token counts. */
const BEAT_MS = 15_000
/** How soon a listener is to connect again. */
const RETRY_MS = 2_000
/** A longer message is for this process alone. */
const MOST_MESSAGE = 256 * 1_024

export interface FeedOptions {
  readonly clock: Clock
  /** Names this process. No other ever has the name, and no listener hears it. */
  readonly process: string
  /** Begins to tell events; the result ends that. */
  source(emit: (event: FeedEvent) => void): () => void
  /** The event of a task that was just stored. */
  queued(task: NewTask): FeedEvent
  /** Absent: this process hears itself alone. */
  readonly broadcast?: Broadcast | undefined
}

interface Kept extends Pick<FeedEvent, 'type' | 'tenant' | 'origin'> {
  readonly id: string
  readonly text: string
}

/** Between processes. Those of another version are passed over. */
type Message =
  | { readonly v: 1; readonly from: string; readonly listens: true }
  | { readonly v: 1; readonly from: string; readonly event: Kept }

export class Feed implements Listening {
  readonly #options: FeedOptions
  readonly #listeners = new Map<FeedStream, Asked>()
  /** By task: what has happened to those whose store has not answered yet. */
  readonly #early = new Map<string, FeedEvent[]>()
  #ring: Kept[] = []
  #next = 1
  #stopSource: (() => void) | undefined
  #stopHearing: (() => void) | undefined
  #disarmBeat: (() => void) | undefined
  #disarmSay: (() => void) | undefined
  /** On the steady clock: until when others listen, and until when what happens is kept. */
  #othersUntil = Number.NEGATIVE_INFINITY
  #keptUntil = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#stopHearing = options.broadcast?.subscribe((message) => this.#heard(message))
  }

  async enqueue(...[store, tasks]: Parameters<Listening['enqueue']>): Promise<readonly Enqueued[]> {
    if (!this.#stopSource) return store.enqueue(tasks)
    for (const { taskId } of tasks) this.#early.set(taskId, [])
    try {
      const said = await store.enqueue(tasks)
      for (const [i, { outcome }] of said.entries()) {
        if (outcome === 'stored') this.#emit(this.#options.queued(tasks[i] as NewTask))
      }
      return said
    } finally {
      for (const { taskId } of tasks) {
        const early = this.#early.get(taskId) ?? []
        this.#early.delete(taskId)
        for (const event of early) this.#emit(event)
      }
    }
  }

  /** Keeps an event of this process, and sends it. */
  #emit({ data, taskId, ...event }: FeedEvent): void {
    const { clock, process } = this.#options
    // a count would tell each tenant how much all the others do
    const id = hash('sha256', `${process} ${this.#next++}`, 'base64url').slice(0, 22)
    const text = eventText(event.type, { at: clock.now(), ...data }, id)
    const kept: Kept = { ...event, id, text }
    this.#tell(kept)
    if (clock.monotonic() < this.#othersUntil) this.#send({ v: 1, from: process, event: kept })
  }

  /** Hears what a queue of this process tells. */
  readonly #happened = (event: FeedEvent): void => {
    const early = event.taskId === undefined ? undefined : this.#early.get(event.taskId)
    if (early) early.push(event)
    else this.#emit(event)
  }

  listen(asked: Asked): ReadableStream<Uint8Array<ArrayBuffer>> | undefined {
    if (this.#listeners.size >= MOST_LISTENERS && !this.#makeRoom(asked.tenant)) return undefined
    const { clock, broadcast } = this.#options
    const stream = new FeedStream(clock, () => this.#left(stream))
    stream.push(`retry: ${RETRY_MS}\n${commentText(broadcast ? ALL : OWN)}`)
    if (this.#isClosed) stream.close('draining')
    else {
      // of other processes it has nothing since then
      if (!this.#isKept) this.#ring = []
      this.#listeners.set(stream, asked)
      this.#goOn(stream, asked)
      if (this.#listeners.size === 1) this.#say()
      this.#watch()
      this.#disarmBeat ??= clock.after(BEAT_MS, () => this.#beat(), true)
    }
    return stream.body
  }

  /** Tells every listener that it ends, and why. */
  close(): void {
    this.#isClosed = true
    for (const stream of [...this.#listeners.keys()]) stream.close('draining')
    this.#stopHearing?.()
    this.#stopWatching()
    this.#disarmSay?.()
  }

  /** Closes the oldest stream of the tenant that has most, if it has more than this one would: no tenant keeps the others out. */
  #makeRoom(tenant: string | null): boolean {
    const byTenant = new Map<string | null, FeedStream[]>()
    for (const [stream, asked] of this.#listeners) {
      byTenant.set(asked.tenant, [...(byTenant.get(asked.tenant) ?? []), stream])
    }
    const most = [...byTenant.values()].reduce((one, other) => (other.length > one.length ? other : one), [])
    const own = byTenant.get(tenant)?.length ?? 0
    if (most.length <= own + 1) return false
    most[0]?.close('displaced')
    return true
  }

  /** The events since the last that it has heard. Where that is not known any more it gets `missed`. */
  #goOn(stream: FeedStream, asked: Asked): void {
    const { lastEventId } = asked
    if (lastEventId === undefined) return
    const at = this.#ring.findIndex(({ id }) => id === lastEventId)
    if (at < 0) {
      const detail = 'events after this one may have been missed: this process does not have them'
      // an id that is none of ours may be anything, so it is not said again
      stream.push(eventText('missed', { detail }))
    }
    for (const kept of at < 0 ? [] : this.#ring.slice(at + 1)) if (isFor(asked, kept)) stream.push(kept.text)
  }

  #tell(kept: Kept): void {
    this.#ring.push(kept)
    if (this.#ring.length > 2 * RING) this.#ring = this.#ring.slice(-RING)
    for (const [stream, asked] of this.#listeners) if (isFor(asked, kept)) stream.push(kept.text)
  }

  #left(stream: FeedStream): void {
    this.#listeners.delete(stream)
    if (this.#listeners.size > 0) return
    this.#keptUntil = this.#options.clock.monotonic() + LINGER_MS
  }

  /** Whether all events are kept, those of other processes among them: for those who listen, or may come back. */
  get #isKept(): boolean {
    return this.#listeners.size > 0 || this.#options.clock.monotonic() < this.#keptUntil
  }

  /** Every few seconds, while there are listeners here or may be again: the other processes hear of them. */
  #say(): void {
    this.#disarmSay?.()
    this.#disarmSay = undefined
    const { clock, process, broadcast } = this.#options
    if (this.#isClosed || !this.#isKept || !broadcast) return
    this.#send({ v: 1, from: process, listens: true })
    this.#disarmSay = clock.after(SAY_MS, () => this.#say(), true)
  }

  #send(message: Message): void {
    const text = JSON.stringify(message)
    if (text.length <= MOST_MESSAGE) this.#options.broadcast?.send(text)
  }

  #heard(text: string): void {
    const message = messageIn(text)
    const { process, clock } = this.#options
    if (!message || message.from === process) return
    if ('event' in message) {
      if (this.#stopSource) this.#tell(message.event)
      return
    }
    this.#othersUntil = clock.monotonic() + HEARD_MS
    this.#watch()
  }

  #beat(): void {
    const { clock } = this.#options
    for (const [stream, asked] of this.#listeners) {
      if (asked.mayGoOn()) stream.push(commentText('still here'))
      else stream.close('unauthorized')
    }
    const isWanted = this.#isKept || clock.monotonic() < this.#othersUntil
    this.#disarmBeat = isWanted ? clock.after(BEAT_MS, () => this.#beat(), true) : undefined
    if (!isWanted) this.#stopWatching()
  }

  #watch(): void {
    if (this.#isClosed) return
    this.#stopSource ??= this.#options.source(this.#happened)
    this.#disarmBeat ??= this.#options.clock.after(BEAT_MS, () => this.#beat(), true)
  }

  #stopWatching(): void {
    this.#disarmBeat?.()
    this.#disarmBeat = undefined
    this.#stopSource?.()
    this.#stopSource = undefined
    this.#ring = []
  }
}

const ALL = 'what the processes of this store do, as it happens'
const OWN = 'what this process does, as it happens: its store carries no messages between processes'

const isFor = ({ types, origin, sees }: Asked, event: Kept): boolean =>
  (!types || types.has(event.type)) && (origin === undefined || origin === event.origin) && sees(event.tenant)

function messageIn(text: string): Message | undefined {
  try {
    const message = JSON.parse(text) as Message
    if (message.v !== 1 || typeof message.from !== 'string') return undefined
    return 'listens' in message || typeof message.event?.text === 'string' ? message : undefined
  } catch {
    return undefined // of another program, or cut off: a live view may miss an event
  }
}
