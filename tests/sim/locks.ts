/** The browser's locks: by name, first come first served, exclusive or shared, and let go with their page, however it ends. */

export interface LockTerms {
  /** @default 'exclusive' */
  readonly mode?: 'exclusive' | 'shared'
  /** Takes it from whoever holds it. */
  readonly steal?: boolean
  /** Somebody has stolen it. */
  readonly lost?: () => void
}

export interface Held {
  readonly isHeld: boolean
  release(): void
}

interface Request {
  readonly page: object
  readonly mode: 'exclusive' | 'shared'
  readonly granted: () => void
  readonly lost: () => void
  isHeld: boolean
}

export class Locks {
  readonly #queues = new Map<string, Request[]>()

  /** `granted` is called later, also where the lock is free. */
  request(page: object, name: string, granted: () => void, terms: LockTerms = {}): Held {
    const { mode = 'exclusive', steal = false, lost = () => {} } = terms
    const request: Request = { page, mode, granted, lost, isHeld: false }
    const queue = this.#queues.get(name) ?? []
    if (steal) {
      const robbed = queue.filter(({ isHeld }) => isHeld)
      this.#queues.set(name, [request, ...queue.filter(({ isHeld }) => !isHeld)])
      for (const each of robbed) {
        each.isHeld = false
        queueMicrotask(each.lost)
      }
    } else this.#queues.set(name, [...queue, request])
    this.#grant(name)
    return {
      get isHeld() {
        return request.isHeld
      },
      release: () => this.#remove(name, (each) => each === request),
    }
  }

  /** Whose it is, exclusively. */
  holder(name: string): object | undefined {
    return this.#queues.get(name)?.find(({ isHeld, mode }) => isHeld && mode === 'exclusive')?.page
  }

  /** Who waits for it, and would have it alone. */
  waiting(name: string): readonly object[] {
    const queue = this.#queues.get(name) ?? []
    return queue.flatMap(({ isHeld, mode, page }) => (!isHeld && mode === 'exclusive' ? [page] : []))
  }

  /** Of all that are held or waited for. */
  names(): readonly string[] {
    return [...this.#queues.keys()]
  }

  /** Names of those that are held exclusively. */
  held(): readonly string[] {
    return [...this.#queues.keys()].filter((name) => this.holder(name) !== undefined)
  }

  /** The page is gone. */
  end(page: object): void {
    for (const name of [...this.#queues.keys()]) this.#remove(name, (each) => each.page === page)
  }

  #remove(name: string, which: (request: Request) => boolean): void {
    const queue = this.#queues.get(name) ?? []
    const left = queue.filter((request) => !which(request))
    for (const request of queue) if (which(request)) request.isHeld = false
    if (left.length > 0) this.#queues.set(name, left)
    else this.#queues.delete(name)
    if (left.length < queue.length) this.#grant(name)
  }

  /** The first of the queue has it, and with one that shares all that follow and share. */
  #grant(name: string): void {
    const queue = this.#queues.get(name) ?? []
    for (const [i, request] of queue.entries()) {
      const shares = request.mode === 'shared' && queue.slice(0, i).every(({ mode }) => mode === 'shared')
      if (i > 0 && !shares) return
      if (request.isHeld) continue
      request.isHeld = true
      queueMicrotask(() => request.isHeld && request.granted())
    }
  }
}
