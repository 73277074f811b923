/**
 * The way between clients and a server, which can be bad: connections break, in the middle of an answer too; one direction or both
 * carry nothing for a while, and what was under way is lost or comes late; all is slow; commands arrive twice.
 *
 * TCP itself doubles nothing, and no client of ours sends a script again by itself. What does happen is that a command whose answer
 * was lost arrives a second time on another connection, from a proxy that tries again or from the caller. So that is what doubling
 * is here: a whole command, once more, later, on a connection of its own, whose answer is dropped.
 */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { wait } from '../runner.ts'
import { wholeCommands } from './commands.ts'

export type Direction = 'requests' | 'answers'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly late: Record<Direction, Promise<void>>
  /** What is left of a command that has not come as a whole. */
  rest: Buffer
}

const HOST = '127.0.0.1'

export class Way {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #target: number
  /** Bytes of the next answers that are let through before their connection breaks. */
  #breaks = false
  #delayMs = 0
  #held: Partial<Record<Direction, Promise<void>>> = {}
  #doubleMs: readonly number[] = []
  #doubles = 0
  readonly counted: { connections: number; broken: number; doubled: number; lost: number } = {
    connections: 0,
    broken: 0,
    doubled: 0,
    lost: 0,
  }

  private constructor(listener: Server, target: number) {
    this.#listener = listener
    this.#target = target
    listener.on('connection', (client) => this.#meet(client))
  }

  static async start(target: number): Promise<Way> {
    const listener = createServer({ noDelay: true }).listen(0, HOST)
    await once(listener, 'listening')
    return new Way(listener, target)
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** All go to another server from now on, on new connections. */
  lead(target: number): void {
    this.#target = target
    this.cut()
  }

  cut(): void {
    for (const pair of [...this.#pairs]) this.#break(pair)
  }

  /** Each connection breaks in the middle of its next answer. */
  async breakAnswers(forMs: number): Promise<void> {
    this.#breaks = true
    await wait(forMs)
    this.#breaks = false
  }

  /** Nothing passes in these directions for so long, or until that is done; then what was held comes late, or is lost with its connection. */
  async hold(directions: readonly Direction[], until: number | Promise<unknown>, isLost: boolean): Promise<void> {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    this.#held = Object.fromEntries(directions.map((direction) => [direction, held]))
    await (typeof until === 'number' ? wait(until) : until)
    this.#held = {}
    if (isLost) {
      this.counted.lost += this.#pairs.size
      this.cut()
    }
    letGo()
  }

  /** Whatever passes takes so much longer. */
  async slow(delayMs: number, forMs: number): Promise<void> {
    this.#delayMs = delayMs
    await wait(forMs)
    this.#delayMs = 0
  }

  /** Scripts are run once more, after one of these times. */
  async double(afterMs: readonly number[], forMs: number): Promise<void> {
    this.#doubleMs = afterMs
    await wait(forMs)
    this.#doubleMs = []
  }

  async close(): Promise<void> {
    this.#held = {}
    this.cut()
    this.#listener.close()
    await once(this.#listener, 'close')
  }

  #meet(client: Socket): void {
    this.counted.connections++
    const server = connect({ port: this.#target, host: HOST, noDelay: true })
    const pair: Pair = {
      client,
      server,
      late: { requests: Promise.resolve(), answers: Promise.resolve() },
      rest: Buffer.alloc(0),
    }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      socket.on('close', () => this.#break(pair))
    }
    client.on('data', (bytes: Buffer) => {
      this.#pass(pair, 'requests', server, bytes)
      this.#again(pair, bytes)
    })
    server.on('data', (bytes: Buffer) => {
      if (!this.#breaks) return this.#pass(pair, 'answers', client, bytes)
      this.counted.broken++
      client.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => this.#break(pair))
    })
  }

  /** In the order in which it came. */
  #pass(pair: Pair, direction: Direction, to: Socket, bytes: Buffer): void {
    const [held, delayMs] = [this.#held[direction], this.#delayMs]
    const before = pair.late[direction]
    const isLate = held !== undefined || delayMs > 0
    pair.late[direction] = before
      .then(() => held)
      .then(() => (delayMs > 0 ? wait(delayMs) : undefined))
      .then(() => {
        if (this.#pairs.has(pair) && !to.destroyed) to.write(bytes)
        else if (isLate) this.counted.lost++
      })
  }

  #again(pair: Pair, bytes: Buffer): void {
    const { commands, rest } = wholeCommands(Buffer.concat([pair.rest, bytes]))
    pair.rest = rest
    for (const { name, text } of commands) {
      const afterMs = this.#doubleMs[this.#doubles++ % Math.max(1, this.#doubleMs.length)]
      if (afterMs === undefined || !/^EVAL/i.test(name)) continue
      this.counted.doubled++
      setTimeout(() => this.#sendAlone(text), afterMs)
    }
  }

  #sendAlone(text: Buffer): void {
    const socket = connect({ port: this.#target, host: HOST })
    socket.on('error', () => {})
    socket.on('data', () => socket.destroy())
    socket.write(text)
  }

  #break(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    // as where a host is gone: a reset, and no goodbye
    pair.client.resetAndDestroy()
    pair.server.destroy()
  }
}
