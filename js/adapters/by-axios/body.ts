/**
 * A body as axios' http or fetch adapter streams it. It is read as far as it is needed: a little where another attempt follows, to its
 * end where its caller gets it, and then given in the form that the adapter itself would have made of it.
 */

import { bodyLetGo, cancel } from '../../call/discard.ts'
import { type Clock, FOREVER, within } from '../../platform/clock.ts'

type Chunk = Uint8Array<ArrayBuffer>

/** The part of a stream of Node that is needed here. */
interface NodeStream extends AsyncIterable<Chunk> {
  on(event: 'error', listener: (error: unknown) => void): unknown
  destroy(): unknown
}

interface Source {
  read(): Promise<{ readonly done?: boolean | undefined; readonly value?: Chunk | undefined }>
  cancel(): void
}

/** Node's own, of which a page has none: asked only where a stream of Node has come. What a page loads imports nothing of Node. */
export const node = globalThis as unknown as {
  readonly process: {
    readonly versions?: { readonly node?: string }
    getBuiltinModule(name: 'node:stream'): {
      readonly Readable: {
        from(parts: AsyncIterable<Chunk>, options: { readonly objectMode: boolean }): unknown
        fromWeb(stream: ReadableStream<Chunk>): unknown
      }
    }
  }
  readonly Buffer: { from(bytes: ArrayBuffer): Chunk & { toString(encoding?: string): string } }
}

export class StreamedBody {
  readonly #stream: NodeStream | ReadableStream<Chunk>
  readonly #chunks: Chunk[] = []
  /** The parts that each of its readers has not had yet. */
  #kept: Chunk[][] = [this.#chunks]
  #readers = 0
  #source: Source | undefined
  #reading: ReturnType<Source['read']> | undefined
  #isGone = false

  readonly #abort: () => void

  private constructor(stream: NodeStream | ReadableStream<Chunk>, abort: () => void) {
    this.#stream = stream
    this.#abort = abort
  }

  /** undefined: it is no stream. Until it is read, or dropped, the stream stays as it is. `abort`: ends its request. */
  static of(data: unknown, abort: () => void): StreamedBody | undefined {
    if (typeof data !== 'object' || data === null) return undefined
    // a page that a test runner has put together may have no streams, or others
    if ('getReader' in data) {
      const stream = data as ReadableStream<Chunk>
      return stream.locked ? undefined : new StreamedBody(stream, abort)
    }
    const isNode = 'destroy' in data && 'on' in data && Symbol.asyncIterator in data
    return isNode ? new StreamedBody(data as NodeStream, abort) : undefined
  }

  /** Whether it is a stream of Node, and not of the web. */
  get isNode(): boolean {
    return 'destroy' in this.#stream
  }

  /** The next part, which is kept. Asked again before it is there, it is the same; once it failed, it fails. */
  read(): ReturnType<Source['read']> {
    this.#reading ??= this.#open()
      .read()
      .then((part) => {
        this.#reading = undefined
        if (part.value) for (const each of this.#kept) each.push(part.value)
        return part
      })
    return this.#reading
  }

  /** Drops what is still to come. */
  discard(): void {
    this.#isGone = true
    const source = this.#open()
    // first: a stream that axios has laid around another passes no cancel on while it is being read
    this.#abort()
    source.cancel()
  }

  #open(): Source {
    this.#source ??= 'destroy' in this.#stream ? ofNode(this.#stream) : ofWeb(this.#stream)
    return this.#source
  }

  /** Reads to the end, or to where it was dropped, for `mostMs` at most. `idleMs`: longest time without a part; 0: any. */
  async all(idleMs: number, mostMs: number, clock: Clock): Promise<Chunk> {
    this.#readers++
    let isOver = false
    let disarm = () => {}
    const over = new Promise<{ readonly done: true }>((resolve) => {
      const end = () => {
        isOver = true
        resolve({ done: true })
      }
      if (mostMs < FOREVER) disarm = clock.after(mostMs, end)
    })
    try {
      while (!this.#isGone) {
        const part = this.read()
        const next = idleMs > 0 ? within(clock, idleMs, 'the next part of the body', part) : part
        const { done } = await Promise.race([next, over])
        if (isOver) {
          // that it breaks off now is our doing, and tells nothing
          next.catch(() => {})
          this.discard()
        }
        if (done) break
      }
    } finally {
      disarm()
    }
    const bytes = new Uint8Array(this.#chunks.reduce((sum, { byteLength }) => sum + byteLength, 0))
    let at = 0
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at)
      at += chunk.byteLength
    }
    return bytes
  }

  /** Whether there are copies of it, so that its stream is no longer its caller's alone. */
  get isShared(): boolean {
    return this.#readers > 0
  }

  /** The whole as a stream of its kind: what was read, and then what comes. One that was dropped fails at its end. */
  again(): unknown {
    const { next, leave } = this.#reader(this.#chunks)
    if (!this.isNode) return webStream(next, leave)
    // a generator would hear of it only once its read is over
    const end = async () => {
      leave()
      return END
    }
    const parts: AsyncIterable<Chunk> = { [Symbol.asyncIterator]: () => ({ next, return: end }) }
    return node.process.getBuiltinModule('node:stream').Readable.from(parts, { objectMode: false })
  }

  /** The whole as a stream of the web, for a reader beside its caller; `isLast`: in place of its caller. */
  copy(isLast: boolean): ReadableStream<Chunk> {
    const chunks = isLast ? this.#chunks : [...this.#chunks]
    if (!isLast) this.#kept.push(chunks)
    const { next, leave } = this.#reader(chunks)
    return webStream(next, leave)
  }

  #reader(chunks: Chunk[]): { next(): Promise<IteratorResult<Chunk, undefined>>; leave(): void } {
    this.#readers++
    return {
      next: async () => {
        while (!chunks.length) {
          if (this.#isGone) throw bodyLetGo()
          if ((await this.read()).done) return END
        }
        return { value: chunks.shift() as Chunk }
      },
      // the others read on
      leave: () => {
        this.#kept = this.#kept.filter((each) => each !== chunks)
        if (--this.#readers === 0) this.discard()
      },
    }
  }
}

const END = { done: true, value: undefined } as const

const webStream = (next: () => Promise<IteratorResult<Chunk, undefined>>, cancel: () => void): ReadableStream<Chunk> =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel,
  })

function ofWeb(stream: ReadableStream<Chunk>): Source {
  const reader = stream.getReader()
  return { read: () => reader.read(), cancel: () => void cancel(reader) }
}

function ofNode(stream: NodeStream): Source {
  let first: { readonly error: unknown } | undefined
  // the first error is axios' own, and those after it its consequences; one that comes while no one reads would end the process
  stream.on('error', (error) => {
    first ??= { error }
  })
  const iterator = stream[Symbol.asyncIterator]()
  return {
    read: () =>
      iterator.next().catch((error) => {
        throw first ? first.error : error
      }),
    cancel: () => void stream.destroy(),
  }
}
