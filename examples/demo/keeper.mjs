/** A queue that lives in a process of its own, as its parent sees it: started, asked, killed. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

/** A process with a queue. */
export class Keeper {
  gone = false
  pauseEndsAt = 0
  #child
  #exited
  #answers = new Map()
  #ready

  /** `options`: what the program starts with. */
  constructor(program, options, told) {
    this.#child = fork(program, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#exited = once(this.#child, 'exit').then(() => {
      this.gone = true
      for (const answer of this.#answers.values()) answer(undefined)
    })
    const isReady = this.#ask('ready')
    this.#ready = isReady.then((found) => found ?? Promise.reject(new Error('the queue process did not start')))
    // the callers that await it look at it; a kill may come first
    this.#ready.catch(() => {})
    this.#child.on('message', ({ event, payload, answer, value, pauseEndsAt }) => {
      if (event) told.tell(event, payload)
      else if (pauseEndsAt) this.pauseEndsAt = pauseEndsAt
      else this.#answers.get(answer)?.(value)
    })
  }

  /** What it has found in the store. */
  get ready() {
    return this.#ready
  }

  /** Whether the order was accepted. */
  async place(intent) {
    if (!(await this.#ready.catch(() => undefined))) return false
    return (await this.#ask(intent, { place: intent })) === true
  }

  /** How many tasks have succeeded, as the store has it. */
  done() {
    return this.#ask('done', { count: 'done' })
  }

  /** What is in the store; undefined: the process cannot say now. */
  find() {
    return this.#ask('find', { find: 'find' })
  }

  async kill() {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  async close() {
    this.#child.disconnect()
    await this.#exited
  }

  /** undefined: the process is gone. */
  #ask(name, message) {
    return new Promise((resolve) => {
      if (this.gone) return resolve(undefined)
      this.#answers.set(name, (value) => {
        this.#answers.delete(name)
        resolve(value)
      })
      // a process that dies under it: its exit answers
      if (message) this.#child.send(message, () => {})
    })
  }
}

/** The events of a queue elsewhere, for those who follow one. */
export class Told {
  #listeners = new Map()

  on(event, listener) {
    this.#listeners.set(event, listener)
    return () => this.#listeners.delete(event)
  }

  tell(event, payload) {
    this.#listeners.get(event)?.(payload)
  }
}
