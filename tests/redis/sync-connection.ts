/**
 * A connection on which a command is answered before the call returns, so that what runs in virtual time can use a real server, and
 * no answer depends on when the event loop comes round. Reads and writes go to the socket's descriptor itself; libuv only opens it.
 *
 * Messages come between the answers (RESP3). A PING behind each command, sent with it, makes sure that all are here which the
 * command has caused.
 */

import { Buffer } from 'node:buffer'
import { readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type Arg, PortError, type Reply } from '../../js/stores/redis/port.ts'
import { Decoder, Encoder, type Sent } from './resp.ts'

const ANSWERS_IN_MS = 30_000
const CHUNK_BYTES = 256 * 1_024
/** So many looks without a rest: a command takes less. */
const EAGER_LOOKS = 20
const REST_MS = 0.05
const PING = ['PING'] as const

type Answer = Exclude<Sent, { readonly kind: 'message' }>

export type Heard = (message: Buffer) => void

export class SyncConnection {
  /** Kept, or it would be closed. */
  readonly #socket: Socket
  readonly #fd: number
  readonly #encoder = new Encoder()
  readonly #decoder = new Decoder()
  readonly #chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  readonly #rest = new Int32Array(new SharedArrayBuffer(4))
  readonly #listeners = new Map<string, Set<Heard>>()

  /** `path`: of the server's socket. */
  static async open(path: string): Promise<SyncConnection> {
    const socket = new Socket()
    // whoever reads from it, it is not libuv
    socket.pause()
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.connect(path, resolve)
    })
    socket.unref()
    const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle
    const connection = new SyncConnection(socket, fd)
    connection.ask(['HELLO', '3'])
    return connection
  }

  private constructor(socket: Socket, fd: number) {
    this.#socket = socket
    this.#fd = fd
  }

  /** Throws what the server has against it. */
  ask(parts: readonly Arg[]): Reply {
    const answer = this.tell(parts)
    if (answer.kind === 'error') throw answer.error
    return answer.value
  }

  /** Gives what it has against it. */
  tell(parts: readonly Arg[]): Answer {
    const listens = this.#listeners.size > 0
    this.#write(this.#encoder.encode(listens ? [parts, PING] : [parts]))
    const answer = this.#answer()
    if (listens) this.#answer()
    return answer
  }

  /** Messages of a channel of its shard. Returns what ends it. */
  listen(channel: string, heard: Heard): () => void {
    const others = this.#listeners.get(channel)
    if (others) others.add(heard)
    else {
      this.#listeners.set(channel, new Set([heard]))
      this.#answeredByMessage('SSUBSCRIBE', channel)
    }
    return () => {
      const listeners = this.#listeners.get(channel)
      if (!listeners?.delete(heard) || listeners.size > 0) return
      this.#answeredByMessage('SUNSUBSCRIBE', channel)
      this.#listeners.delete(channel)
    }
  }

  close(): void {
    this.#socket.destroy()
  }

  #answeredByMessage(command: string, channel: string): void {
    this.#write(this.#encoder.encode([[command, channel], PING]))
    const answer = this.#answer()
    if (answer.kind === 'error') throw answer.error
  }

  #answer(): Answer {
    for (;;) {
      const sent = this.#decoder.next()
      if (!sent) this.#read()
      else if (sent.kind === 'message') this.#deliver(sent.parts)
      else return sent
    }
  }

  /** Nobody hears of it before the call that caused it has returned. */
  #deliver([kind, channel, message]: readonly Reply[]): void {
    if (String(kind) !== 'smessage' || !(message instanceof Buffer)) return
    for (const heard of this.#listeners.get(String(channel)) ?? []) queueMicrotask(() => heard(message))
  }

  #read(): void {
    const count = this.#patiently(() => readSync(this.#fd, this.#chunk))
    if (count === 0) throw lost('the server has ended the connection')
    this.#decoder.feed(Buffer.from(this.#chunk.subarray(0, count)))
  }

  #write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      at += this.#patiently(() => writeSync(this.#fd, bytes, at))
    }
  }

  /** Again, while the socket is not ready. */
  #patiently(work: () => number): number {
    const { stackTraceLimit } = Error
    // that it is not ready is an error each time, and nobody looks at where
    Error.stackTraceLimit = 0
    try {
      for (let looks = 0, until = 0; ; looks++) {
        try {
          return work()
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw lost(String(error))
        }
        if (looks < EAGER_LOOKS) continue
        until ||= performance.now() + ANSWERS_IN_MS
        if (performance.now() > until) throw lost(`no answer in ${ANSWERS_IN_MS} ms`)
        Atomics.wait(this.#rest, 0, 0, REST_MS)
      }
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }
}

const lost = (what: string): PortError => new PortError('CONNECTION_LOST', what)
