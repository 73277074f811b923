/** What a case has: a queue of its own, a network that answers as it is told, and the browser's part of Background Sync. */

export interface Entry {
  readonly request: Request
  readonly timestamp?: number
  readonly metadata?: object
}

/** The part that the two libraries share. */
export interface QueueLike {
  readonly name: string
  pushRequest(entry: Entry): Promise<void>
  unshiftRequest(entry: Entry): Promise<void>
  popRequest(): Promise<Entry | undefined>
  shiftRequest(): Promise<Entry | undefined>
  getAll(): Promise<Entry[]>
  size(): Promise<number>
  replayRequests(): Promise<void>
  registerSync(): Promise<void>
}

export interface Options {
  readonly onSync?: (given: { readonly queue: QueueLike }) => void | Promise<void>
  readonly maxRetentionTime?: number
  readonly forceSyncFallback?: boolean
}

/** A library under test. */
export interface Side {
  readonly name: 'workbox' | 'redrive'
  open(name: string, options?: Options): QueueLike
  plugin(name: string): { fetchDidFail(failed: { readonly request: Request }): Promise<unknown> }
  /** Forgets what earlier cases have left, where queues share a database. */
  clear(): Promise<void>
  /** How many requests of the queue it has given up and kept. */
  givenUp(queue: QueueLike): Promise<number>
}

/** What the network does with a request: a status, or no answer. */
export type Answer = number | 'lost'

export interface Sent {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Kit {
  readonly side: Side
  /** A name that no other case has. */
  readonly fresh: () => string
  open(options?: Options): QueueLike
  /** What the network does from now on, in order; then it answers 200. */
  answers(...answers: readonly Answer[]): void
  /** What has been sent, in order. */
  readonly sent: readonly Sent[]
  /** Tags of the syncs that were asked for. */
  readonly asked: readonly string[]
  /** Has the browser refuse syncs. */
  refuse(): void
  /** The browser's sync; resolves with how it ended. */
  sync(queue: QueueLike | string, how?: { readonly lastChance?: boolean }): Promise<string>
  /** Everything that the site's databases hold, as text. */
  stored(): Promise<string>
}

export interface Case {
  /** Where the case belongs in the table. */
  readonly about: string
  readonly name: string
  /** Needs Background Sync: without it, ours sends what is pushed. */
  readonly needsSync?: true
  /** Gives what is seen. */
  run(kit: Kit): Promise<unknown>
  /** What is seen of Workbox, and of redrive unless it differs. */
  readonly seen: unknown
  readonly differs?: {
    readonly seen: unknown
    /** In words, for the table. */
    readonly workbox: string
    readonly redrive: string
    readonly why: string
  }
}

/** Cases that have something in common. */
export const casesOf = (
  common: Pick<Case, 'about' | 'needsSync'>,
  cases: readonly (Omit<Case, 'about'> & Partial<Pick<Case, 'about'>>)[],
): readonly Case[] => cases.map((each) => ({ ...common, ...each }))

export const post = (body: string, headers: Record<string, string> = {}): Request =>
  new Request('/api/orders', { method: 'POST', body, headers })

export const bodies = (entries: readonly Entry[]): Promise<string[]> =>
  Promise.all(entries.map(({ request }) => request.clone().text()))

/** The name of the error that a promise rejects with. */
export const failure = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error) => String(error?.name),
  )

let opened = 0

/** Plays the browser and the network in a service worker, for one case. */
export function kitOf(side: Side): Kit {
  const sent: Sent[] = []
  const asked: string[] = []
  const answers: Answer[] = []
  let isRefusing = false
  const fresh = () => `${side.name}-${++opened}`
  Object.assign(globalThis, {
    async fetch(input: Request | string, init?: RequestInit) {
      const request = new Request(input, init)
      const { url, headers } = request
      sent.push({ url, body: await request.text(), headers: Object.fromEntries(headers) })
      const answer = answers.shift() ?? 200
      if (answer === 'lost') throw new TypeError('Failed to fetch')
      return new Response(null, { status: answer })
    },
  })
  const { SyncManager } = globalThis as { readonly SyncManager?: { readonly prototype: object } }
  if (SyncManager) {
    Object.assign(SyncManager.prototype, {
      async register(tag: string) {
        if (isRefusing) throw new DOMException('Permission denied.', 'NotAllowedError')
        asked.push(tag)
      },
    })
  }
  return {
    side,
    fresh,
    open: (options) => side.open(fresh(), options),
    answers: (...given) => void answers.splice(0, answers.length, ...given),
    sent,
    asked,
    refuse() {
      isRefusing = true
    },
    async sync(queue, { lastChance = false } = {}) {
      const name = typeof queue === 'string' ? queue : queue.name
      const works: Promise<unknown>[] = []
      const event = Object.defineProperties(new Event('sync'), {
        tag: { value: `workbox-background-sync:${name}` },
        lastChance: { value: lastChance },
        waitUntil: { value: (work: Promise<unknown>) => works.push(work) },
      })
      globalThis.dispatchEvent(event)
      return works.length === 0 ? 'unanswered' : failure(Promise.all(works))
    },
    stored,
  }
}

/** Of all databases: names and values, bytes as text. */
async function stored(): Promise<string> {
  const words: string[] = []
  const decoder = new TextDecoder()
  const replacer = (_: string, value: unknown) =>
    value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? decoder.decode(value as ArrayBuffer) : value
  for (const { name } of await indexedDB.databases()) {
    const db = await asked<IDBDatabase>(indexedDB.open(name ?? ''))
    for (const table of db.objectStoreNames) {
      words.push(JSON.stringify(await asked(db.transaction(table).objectStore(table).getAll()), replacer))
    }
    db.close()
  }
  return words.join('\n')
}

const asked = <T>(request: IDBRequest): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
