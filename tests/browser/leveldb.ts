/**
 * Reads what Chromium's IndexedDB leaves in its files, as text that can be searched: a table is compressed, its keys are
 * written without what they share with the one before, and a log cuts long records at its blocks.
 *
 * Formats: https://github.com/google/leveldb/tree/main/doc and https://github.com/google/snappy/blob/main/format_description.txt
 */

const LOG_BLOCK = 32_768
const LOG_HEADER = 7
const FOOTER = 48
const TABLE_MAGIC = 0xdb4775248b80fb57n
/** Type and checksum after each block of a table. */
const TRAILER = 5

/** The records of a log, in order and whole, one after another. */
export function readLog(file: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let block = 0; block < file.length; block += LOG_BLOCK) {
    const end = Math.min(block + LOG_BLOCK, file.length)
    for (let at = block; at + LOG_HEADER <= end; ) {
      const length = file.readUInt16LE(at + 4)
      const type = file[at + 6]
      if (type === 0 && length === 0) break // the rest of a block that was set aside
      parts.push(file.subarray(at + LOG_HEADER, Math.min(at + LOG_HEADER + length, end)))
      at += LOG_HEADER + length
    }
  }
  return Buffer.concat(parts)
}

/** Keys and values of a table, each whole. */
export function readTable(file: Buffer): Buffer {
  const footer = file.subarray(file.length - FOOTER)
  if (footer.length < FOOTER || footer.readBigUInt64LE(FOOTER - 8) !== TABLE_MAGIC)
    throw new Error('not a LevelDB table')
  const cursor = new Cursor(footer)
  cursor.handle() // of the filters
  const index = blockAt(file, cursor.handle())
  const parts: Buffer[] = []
  for (const { value: handle } of entriesOf(index)) {
    for (const { key, value } of entriesOf(blockAt(file, new Cursor(handle).handle()))) parts.push(key, value)
  }
  return Buffer.concat(parts)
}

interface Handle {
  readonly offset: number
  readonly size: number
}

class Cursor {
  at = 0
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes.readUInt8(this.at++)
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  take(length: number): Buffer {
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  handle(): Handle {
    return { offset: this.varint(), size: this.varint() }
  }
}

function blockAt(file: Buffer, { offset, size }: Handle): Buffer {
  const [data, type] = [file.subarray(offset, offset + size), file.readUInt8(offset + size)]
  if (offset + size + TRAILER > file.length) throw new Error('a block ends behind its table')
  if (type === 0) return data
  if (type === 1) return unsnap(data)
  throw new Error(`a block is compressed in a way (${type}) that this reader does not know`)
}

function* entriesOf(block: Buffer): Generator<{ readonly key: Buffer; readonly value: Buffer }> {
  const restarts = block.readUInt32LE(block.length - 4)
  const end = block.length - 4 * (restarts + 1)
  const cursor = new Cursor(block)
  let key = Buffer.alloc(0)
  while (cursor.at < end) {
    const [shared, own, length] = [cursor.varint(), cursor.varint(), cursor.varint()]
    key = Buffer.concat([key.subarray(0, shared), cursor.take(own)])
    yield { key, value: cursor.take(length) }
  }
}

/** Takes Snappy's compression back. */
export function unsnap(packed: Buffer): Buffer {
  const cursor = new Cursor(packed)
  const out = Buffer.alloc(cursor.varint())
  let at = 0
  while (cursor.at < packed.length) {
    const tag = packed.readUInt8(cursor.at++)
    if ((tag & 3) === 0) {
      const extra = Math.max(0, (tag >> 2) - 59)
      const length = extra === 0 ? (tag >> 2) + 1 : cursor.take(extra).readUIntLE(0, extra) + 1
      at += cursor.take(length).copy(out, at)
      continue
    }
    const width = [0, 1, 2, 4][tag & 3] as number
    const low = cursor.take(width).readUIntLE(0, width)
    const near = width === 1
    const length = near ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1
    const back = near ? low + ((tag >> 5) << 8) : low
    // byte by byte: what is copied may be what is being written
    for (let i = 0; i < length; i++, at++) out[at] = out[at - back] as number
  }
  if (at !== out.length) throw new Error(`Snappy: ${at} bytes instead of ${out.length}`)
  return out
}
