/** Takes tasks: calls that are made in one tick are one script. */

import type { Buffer } from 'node:buffer'
import { RedriveError } from '../../api/errors.ts'
import type { NewTask } from '../../api/records.ts'
import { type Enqueued, type Lease, SWEEP } from '../../api/store.ts'
import { StorageFullError } from '../../api/task-errors.ts'
import type { EnqueueLease } from '../engine/enqueue.ts'
import { orderName } from '../engine/rules.ts'
import { idText, principalTag } from './names.ts'
import { Packer } from './packed.ts'
import type { Arg, RedisPort, Reply } from './port.ts'
import { enqueueScript } from './scripts.ts'
import type { Session } from './session.ts'
import { argsOf, prepared } from './task.ts'

/** Calls are put together up to this many tasks, for others to have their turn; a call that has more is one script all the same. */
const MOST = 128

const OUTCOMES: readonly Enqueued['outcome'][] = ['stored', 'duplicate', 'conflict', 'unreadable', 'full', 'full']
/** The last of them is for want of its principal's quota. */
const OVER_QUOTA = 5

interface Waiting {
  readonly tasks: readonly NewTask[]
  readonly lease: EnqueueLease | undefined
  readonly resolve: (outcomes: readonly Enqueued[]) => void
  readonly reject: (error: unknown) => void
}

export class EnqueueGroup {
  readonly #session: Session
  readonly #confirm: () => Promise<void>
  readonly #port: RedisPort
  #waiting: Waiting[] = []
  #sent: Promise<unknown> = Promise.resolve()
  #isDue = false
  /** Orders of calls that are not answered yet: what comes later of them waits, so that nothing overtakes. */
  readonly #orders = new Set<string>()

  /** `confirm`: resolves when what was stored before it, on `port`, survives what the store promises. */
  constructor(session: Session, port: RedisPort, confirm: () => Promise<void>) {
    this.#session = session
    this.#port = port
    this.#confirm = confirm
  }

  add(tasks: readonly NewTask[], lease: EnqueueLease | undefined): Promise<readonly Enqueued[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ tasks, lease, resolve, reject })
      if (!this.#isDue) queueMicrotask(() => this.#send())
      this.#isDue = true
    })
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    for (let sent: unknown; sent !== this.#sent; ) {
      sent = this.#sent
      await sent
    }
  }

  #send(): void {
    this.#isDue = false
    const held = new Set(this.#orders)
    const ready: Waiting[] = []
    const later: Waiting[] = []
    for (const each of this.#waiting) {
      const orders = ordersOf(each)
      const isHeld = orders.some((order) => held.has(order))
      for (const order of orders) (isHeld ? held : this.#orders).add(order)
      ;(isHeld ? later : ready).push(each)
    }
    this.#waiting = later
    // those that wait are sent once the answer has come that they wait for
    if (ready.length === 0) return
    const sent = this.#all(ready).then(() => {
      for (const order of ready.flatMap(ordersOf)) this.#orders.delete(order)
      if (this.#waiting.length > 0) this.#send()
    })
    this.#sent = Promise.all([this.#sent, sent])
  }

  /** Never rejects. */
  async #all(waiting: readonly Waiting[]): Promise<void> {
    for (let from = 0; from < waiting.length; ) {
      let [to, count] = [from, 0]
      do count += waiting[to++]?.tasks.length ?? 0
      while (to < waiting.length && count + (waiting[to]?.tasks.length ?? 0) <= MOST)
      const group = waiting.slice(from, to)
      from = to
      try {
        const answers = await this.#store(group)
        await this.#confirm()
        for (const [i, { resolve }] of group.entries()) resolve(answers[i] ?? [])
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
  }

  async #store(group: readonly Waiting[]): Promise<readonly (readonly Enqueued[])[]> {
    const session = this.#session
    const batches = group.map(({ tasks, lease }) => ({ lease, tasks: tasks.map(prepared) }))
    const common = new Set(batches.flatMap(({ tasks }) => tasks.flatMap((task) => task.common ?? [])))
    for (let isNew = false; ; isNew = true) {
      await session.share([...common].filter((shared) => !session.has(shared)))
      const used = new Set([...common].filter((shared) => session.has(shared)))
      const args = batches.flatMap(({ tasks, lease }): Arg[] => [
        headOf(tasks.length, lease),
        ...tasks.flatMap((task) => argsOf(task, (shared) => used.has(shared))),
      ])
      const quotas = quotasOf(session, group)
      const counts = new Packer(12).u32(used.size, batches.length, quotas.length).done()
      const tags = [...used].map(({ tag }) => tag)
      try {
        const answers = await this.#inRoom([counts, ...tags, ...quotas, ...args])
        return (answers as readonly (readonly Buffer[])[]).map((batch) => batch.map(enqueuedIn))
      } catch (error) {
        // the server was emptied, or is another one: it has to be told again, once
        if (isNew || !isUnknownRecord(error)) throw error
        session.records.clear()
      }
    }
  }

  /** Where the server has no memory left for it, tasks that have succeeded or were cancelled give way. */
  async #inRoom(args: readonly Arg[]): Promise<Reply> {
    for (let tries = 1; ; tries++) {
      try {
        const [, answers] = await this.#session.write(enqueueScript, args, 'safe', this.#port)
        return answers as Reply
      } catch (error) {
        if (!(error instanceof StorageFullError) || tries > MOST_GIVES) throw error
        if ((await this.#session.command('give', String(SWEEP))) === 0) throw error
      }
    }
  }
}

const ordersOf = ({ tasks }: Waiting): string[] =>
  tasks.flatMap(({ principal, orderKey }) => (orderKey === undefined ? [] : orderName(principal, orderKey)))

/** So often at most others give way to one call. */
const MOST_GIVES = 64

/** Those of the principals of these tasks that have one. */
function quotasOf({ everyone, terms: { quotaOf } }: Session, group: readonly Waiting[]): Buffer[] {
  if (!everyone || !quotaOf) return []
  const principals = new Set(group.flatMap(({ tasks }) => tasks.map(({ principal }) => principal)))
  return [...principals].flatMap((principal) => {
    const quota = quotaOf(principal)
    if (!quota) return []
    const { capacity = Number.POSITIVE_INFINITY, capacityBytes = Number.POSITIVE_INFINITY } = quota
    return [new Packer(32).bytes(principalTag(principal)).f64(capacity, capacityBytes).done()]
  })
}

const isUnknownRecord = (error: unknown): boolean =>
  error instanceof RedriveError && /REDRIVE_RECORDS/.test(String((error.cause as Error | undefined)?.message))

function headOf(tasks: number, lease: EnqueueLease | undefined): Buffer {
  const { owner = '', leaseMs = 0, total, perLane } = lease ?? {}
  const most = Number.POSITIVE_INFINITY
  return new Packer(64)
    .u32(tasks)
    .u8(lease ? 1 : 0)
    .f64(leaseMs, total ?? most, perLane ?? most)
    .text(owner)
    .done()
}

function enqueuedIn(packed: Reply): Enqueued {
  const bytes = packed as Buffer
  const taskId = idText(bytes.subarray(21, 21 + bytes.readUInt32BE(17)))
  const token = bytes.readDoubleBE(1)
  const lease: Lease = { taskId, token, forMs: bytes.readDoubleBE(9) }
  const code = bytes[0] as number
  return {
    taskId,
    outcome: OUTCOMES[code] as Enqueued['outcome'],
    ...(code === OVER_QUOTA && { of: 'principal' }),
    ...(token > 0 && { lease }),
  }
}
