/**
 * `npm run demo -- --kill`: the queue lives in a process of its own, with its tasks in a SQLite file, and is killed when half
 * of the orders have taken effect. The next process goes on with the tasks in the file.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { betweenCallsMs } from './calls.js'

const program = fileURLToPath(new URL('./killed.mjs', import.meta.url))
const lookMs = 50

/** Places an order per call of the board, kills half-way, starts again; resolves to how many orders are done. */
export async function placeAndKill({ server, board, note, showPause }) {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-demo-'))
  const told = new Told()
  const stopFollowing = board.follow(told)
  let keeper = new Keeper(folder, server.url, told)
  showPause(() => Math.max(0, keeper.pauseEndsAt - Date.now()))
  try {
    await keeper.ready
    const placed = placeAll(board, () => keeper)
    await untilHalf(server, board)
    const killedAt = Date.now()
    await keeper.kill()
    board.interrupt()
    note(`✗ killed: SIGKILL, with ${board.counts().done} of ${board.calls.length} orders done`, 'red')
    keeper = new Keeper(folder, server.url, told)
    const { waiting, leased, ended, leaseMs } = await keeper.ready
    for (const intent of ended) board.ended(intent, true)
    const after = ((Date.now() - killedAt) / 1000).toFixed(1)
    const theirs = `, ${leased} of them not before their leases run out (${leaseMs / 1000} s here, 30 s as a rule)`
    note(`✓ started again ${after} s later: ${waiting + leased} tasks found${leased > 0 ? theirs : ''}`, 'green')
    await placed
    await untilDone(board, keeper)
    const done = await keeper.done()
    await keeper.close()
    return done
  } finally {
    stopFollowing()
    await keeper.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** An order is placed once it is acknowledged; one that a kill left without an answer is placed again, under the same key. */
async function placeAll(board, keeper) {
  const orders = board.calls.map(async ({ intent }, at) => {
    await pause(at * betweenCallsMs)
    board.sent(intent)
    while (!(await keeper().place(intent))) await pause(lookMs)
  })
  await Promise.all(orders)
}

async function untilHalf(server, board) {
  for (let effects = 0; effects < board.calls.length / 2; await pause(lookMs)) {
    const { perIntent } = await server.report()
    effects = perIntent.filter((intent) => intent.effects > 0).length
  }
}

async function untilDone(board, keeper) {
  for (;;) {
    const { planned, waiting, flying } = board.counts()
    if (planned + waiting + flying === 0) return
    if (keeper.gone) throw new Error('the queue process ended by itself')
    await pause(lookMs)
  }
}

/** The process with the queue. */
class Keeper {
  gone = false
  pauseEndsAt = 0
  #child
  #exited
  #answers = new Map()
  #ready

  constructor(folder, url, told) {
    this.#child = fork(program, [JSON.stringify({ folder, url })], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
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

  /** What it has found in the file. */
  get ready() {
    return this.#ready
  }

  /** Whether the order was acknowledged. */
  async place(intent) {
    if (!(await this.#ready.catch(() => undefined))) return false
    return (await this.#ask(intent, { place: intent })) === true
  }

  /** How many tasks have succeeded, as the file has it. */
  done() {
    return this.#ask('done', { count: 'done' })
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

/** What a queue elsewhere says, for those who follow one. */
class Told {
  #listeners = new Map()

  on(event, listener) {
    this.#listeners.set(event, listener)
    return () => this.#listeners.delete(event)
  }

  tell(event, payload) {
    this.#listeners.get(event)?.(payload)
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
