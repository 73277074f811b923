/** A lock that one process of the site has at a time, and loses when it dies. Where there are none, each process goes ahead. */

export class ExclusiveLock {
  readonly #name: string
  #release: (() => void) | undefined

  constructor(name: string) {
    this.#name = name
  }

  /** Whether this process has it now. Waits for no other. */
  async acquire(): Promise<boolean> {
    const { locks } = globalThis.navigator ?? {}
    if (this.#release || !locks) return true
    return new Promise((resolve, reject) => {
      locks
        .request(this.#name, { ifAvailable: true }, (lock) => {
          resolve(lock !== null)
          if (!lock) return
          return new Promise<void>((release) => {
            this.#release = release
          })
        })
        .catch(reject)
    })
  }

  release(): void {
    this.#release?.()
    this.#release = undefined
  }
}
