// What an answer that is small on the wire and huge once unpacked costs, in a process of its own.
import { expect, test } from 'vitest'
import { linesOf, start } from '../processes/run.ts'

interface Cost {
  readonly hits: number
  readonly bomb: number
  readonly grownMiB: number
}

async function costOf(...words: readonly string[]): Promise<Cost> {
  for await (const line of linesOf(start('answers/bomb.ts', ...words))) return JSON.parse(line)
  throw new Error('the process said nothing')
}

/** Bytes of the answer once it is unpacked. */
const SIZE_MIB = 256
/** The process needs more than the answer with plain fetch, too: a few buffers of the unpacker, and what the collector has left. */
const ROOM_MIB = 48

test.each([
  ['fetch', 503, 'br'],
  ['fetch', 503, 'gzip'],
  ['enqueue', 503, 'br'],
  ['enqueue', 200, 'br'],
  ['enqueue', 200, 'gzip'],
  ['axios-http', 503, 'br'],
  ['axios-fetch', 503, 'br'],
])(
  '%s: answers of %i in %s that unpack to 256 MiB cost no more memory than with plain fetch',
  async (how, status, encoding) => {
    const plain = await costOf('plain', String(status), encoding, String(SIZE_MIB))
    const ours = await costOf(how, String(status), encoding, String(SIZE_MIB))
    expect(plain.bomb).toBeLessThan(512 * 1024)
    expect(ours.hits).toBe(status === 503 ? 3 : 1)
    expect(ours.grownMiB).toBeLessThan(2 * plain.grownMiB + ROOM_MIB)
  },
)
