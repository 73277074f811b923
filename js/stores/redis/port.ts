/**
 * The few things that a store asks of a Redis client: what an adapter gives, and what anybody may implement for a client of their own.
 * Bytes go both ways: keys and values are packed, and are no text.
 */

/** Node's `Buffer`, said in a way that compiles, as bytes, where a user's compiler has no types of Node. */
type Buffer = typeof globalThis extends { Buffer: { isBuffer(value: unknown): value is infer Its } } ? Its : Uint8Array

export type Arg = Buffer | string

/** Bulk strings as `Buffer`, integers as `number`, arrays as arrays, nil as null. */
export type Reply = Buffer | string | number | null | readonly Reply[]

export interface RedisPort {
  /** A command with its arguments, sent to the node of `key` in a cluster. Rejects with the server's own error, whose message begins with its code ('NOSCRIPT …', 'OOM …'), or with the client's where the server is not there. It is sent once at most: a claim whose answer is lost is not made again. */
  call(command: string, args: readonly Arg[], key: Arg): Promise<Reply>
  /** SSUBSCRIBE on a connection of its own; the result ends it. It outlives lost connections; rejects where it cannot be made now, and its caller asks again. Absent: no other process is heard, and the store looks every `idleCheckMs`. */
  subscribe?(channel: string, heard: (message: Buffer) => void): Promise<() => Promise<void>>
  /** Calls back after each new connection to a server but the first, now and then without need; the result ends that. */
  onReconnect(again: () => void): () => void
  /** Ends the connections that the port itself has opened; the client is its user's. */
  close(): Promise<void>
}

/** The server has not answered: what a port rejects with where the error is not the server's own. */
export class PortError extends Error {
  override readonly name = 'PortError'
  /** 'NOT_READY': nothing was sent. 'CONNECTION_LOST': it was, and may have been done. */
  readonly code: 'NOT_READY' | 'CONNECTION_LOST'

  constructor(code: PortError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/** Whether an error is the server's answer: its first word is then a code in capitals, which no client's own message begins with. */
export const isAnswer = (error: unknown): boolean =>
  error instanceof Error && /^[A-Z][A-Z0-9_]+( |$)/.test(error.message)

/** The work of a client of some kind for a port. */
export type Commands = Pick<RedisPort, 'call' | 'onReconnect' | 'close'>

/** Where hints are heard. */
export interface Subscriber {
  subscribe: NonNullable<RedisPort['subscribe']>
  close(): Promise<void>
}
