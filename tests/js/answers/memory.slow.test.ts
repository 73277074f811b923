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

/** Each kind of answer, and who is given it; their processes wait more than they work, so they run side by side. */
const ANSWERS = [
  { status: 503, encoding: 'br', hows: ['fetch', 'enqueue', 'axios-http', 'axios-fetch'] },
  { status: 200, encoding: 'gzip', hows: ['enqueue'] },
] as const

test.each(ANSWERS)(
  'answers of $status in $encoding that unpack to 256 MiB cost no more memory than with plain fetch',
  async ({ status, encoding, hows }) => {
    const cost = (how: string) => costOf(how, String(status), encoding, String(SIZE_MIB))
    const [plain, ...ours] = await Promise.all([cost('plain'), ...hows.map(cost)])
    expect(plain.bomb).toBeLessThan(512 * 1024)
    expect(ours.map(({ hits }) => hits)).toEqual(hows.map(() => (status === 503 ? 3 : 1)))
    const most = Math.min(2 * plain.grownMiB + ROOM_MIB, SIZE_MIB / 2)
    expect(ours.map(({ grownMiB }, i) => `${hows[i]}: ${grownMiB < most ? 'little' : grownMiB}`)).toEqual(
      hows.map((how) => `${how}: little`),
    )
  },
)
