// Programs in processes of their own: what each uses is measured there, and not beside the one that asks.
import { fork } from 'node:child_process'
import { once } from 'node:events'

const meter = new URL('meter.mjs', import.meta.url).href

export class Program {
  #name
  #child
  #exited
  #waiting = new Map()
  #said = ''
  #asked = 0

  /** `isProfiled`: where PROFILES names a folder, its CPU profile is there once it has ended. */
  constructor(file, args = [], { isProfiled = false } = {}) {
    const folder = process.env.PROFILES
    const profile = isProfiled && folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
    this.#name = file
    this.#child = fork(file, args, {
      execArgv: ['--import', meter, ...profile],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr.on('data', (text) => {
      this.#said = `${this.#said}${text}`.slice(-2_000)
    })
    this.#child.on('message', ({ asks, value, error }) => {
      const { resolve, reject } = this.#waiting.get(asks)
      if (error) reject(new Error(error))
      else resolve(value)
    })
    this.#exited = once(this.#child, 'close').then(() => {
      for (const { reject } of this.#waiting.values()) reject(this.#ended())
    })
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Since its start: microseconds of the processor, and bytes in memory now. */
  usage() {
    return this.ask('usage')
  }

  /** What the program's function `call` gives. */
  ask(call, ...args) {
    if (this.hasEnded) return Promise.reject(this.#ended())
    const asks = ++this.#asked
    const { promise, resolve, reject } = Promise.withResolvers()
    this.#waiting.set(asks, { resolve, reject })
    this.#child.send({ asks, call, args })
    return promise.finally(() => this.#waiting.delete(asks))
  }

  async stop() {
    this.#child.kill('SIGTERM')
    await this.#exited
  }

  #ended() {
    return new Error(`${this.#name} has ended. ${this.#said}`)
  }
}
