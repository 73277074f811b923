/**
 * The lock manager of a browser with several tabs, any of which may die or be frozen. Node has one of its own, which never
 * lets go of the locks of a worker that has died.
 */

interface Held {
  readonly tab: FakeTab
  readonly name: string
  readonly mode: LockMode
  readonly rob: () => void
}
interface Queued {
  readonly tab: FakeTab
  readonly name: string
  readonly mode: LockMode
  readonly grant: () => void
}

/** Done by any of them. */
let tasks = 0

export class FakeBrowser {
  held: Held[] = []
  queued: Queued[] = []

  tab(): FakeTab {
    return new FakeTab(this)
  }

  /** Grants what can be granted: of each name in the order of asking. */
  settle(): void {
    const blocked = new Set<string>()
    for (const asked of [...this.queued]) {
      const { name, mode } = asked
      const others = this.held.filter((held) => held.name === name)
      const isFree = others.every((held) => held.mode === 'shared' && mode === 'shared')
      if (blocked.has(name) || !isFree) {
        blocked.add(name)
        continue
      }
      this.queued = this.queued.filter((other) => other !== asked)
      asked.grant()
    }
  }

  names(of: 'held' | 'queued'): string[] {
    return this[of].map(({ name, mode }) => name + (mode === 'shared' ? '*' : ''))
  }
}

/** One tab's lock manager, and its document. */
export class FakeTab extends EventTarget implements LockManager {
  visibilityState: DocumentVisibilityState = 'visible'
  isFrozen = false
  refusal: Error | undefined
  isMute = false
  queries = 0
  readonly #browser: FakeBrowser
  #atThaw: (() => void)[] = []
  #isDead = false

  constructor(browser: FakeBrowser) {
    super()
    this.#browser = browser
  }

  show(visibilityState: 'visible' | 'hidden'): void {
    this.visibilityState = visibilityState
    this.dispatchEvent(new Event('visibilitychange'))
  }

  die(): void {
    this.#isDead = true
    this.#browser.held = this.#browser.held.filter(({ tab }) => tab !== this)
    this.#browser.queued = this.#browser.queued.filter(({ tab }) => tab !== this)
    this.#browser.settle()
  }

  thaw(): void {
    this.isFrozen = false
    for (const late of this.#atThaw.splice(0)) this.#later(late)
  }

  request(name: string, ...rest: unknown[]): Promise<never> {
    const callback = rest.pop() as (lock: Lock) => unknown
    const { mode = 'exclusive', signal, steal = false } = (rest.pop() ?? {}) as LockOptions
    return new Promise<unknown>((resolve, reject) => {
      if (this.isMute) return
      if (this.refusal) return reject(this.refusal)
      if (steal && signal) return reject(new DOMException('steal and signal', 'NotSupportedError'))
      if (signal?.aborted) return reject(signal.reason)
      const browser = this.#browser
      const end = (outcome: () => void): void => {
        if (!browser.held.includes(held)) return
        browser.held = browser.held.filter((other) => other !== held)
        this.#later(outcome)
        browser.settle()
      }
      const rob = (): void => this.#later(() => reject(new DOMException('stolen', 'AbortError')))
      const held: Held = { tab: this, name, mode, rob }
      const grant = (): void => {
        browser.held.push(held)
        this.#later(() => {
          Promise.resolve()
            .then(() => callback({ name, mode }))
            .then(
              (value) => end(() => resolve(value)),
              (error) => end(() => reject(error)),
            )
        })
      }
      const asked: Queued = { tab: this, name, mode, grant }
      signal?.addEventListener('abort', () => {
        if (!browser.queued.includes(asked)) return
        browser.queued = browser.queued.filter((other) => other !== asked)
        reject(signal.reason)
        browser.settle()
      })
      if (steal) {
        const robbed = browser.held.filter((other) => other.name === name)
        browser.held = browser.held.filter((other) => other.name !== name)
        grant()
        for (const other of robbed) other.rob()
      } else {
        browser.queued.push(asked)
        browser.settle()
      }
    }) as Promise<never>
  }

  async query(): Promise<LockManagerSnapshot> {
    this.queries++
    if (this.isMute) return new Promise(() => {})
    if (this.refusal) throw this.refusal
    const infos = (of: readonly (Held | Queued)[]) => of.map(({ name, mode }) => ({ name, mode, clientId: '' }))
    const { held, queued } = this.#browser
    return new Promise((resolve) => this.#later(() => resolve({ held: infos(held), pending: infos(queued) })))
  }

  #later(work: () => void): void {
    setImmediate(() => {
      tasks++
      if (this.#isDead) return
      if (this.isFrozen) this.#atThaw.push(work)
      else work()
    })
  }
}

/** Until nothing more happens by itself: what follows a task of the lock manager follows within a few tasks. */
export async function idle(): Promise<void> {
  for (let quiet = 0, before = tasks; quiet < 5; quiet = tasks === before ? quiet + 1 : 0) {
    before = tasks
    await new Promise((resolve) => setImmediate(resolve))
  }
}
