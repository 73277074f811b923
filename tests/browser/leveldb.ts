/** Reads the log of Chromium's IndexedDB, which cuts long records at its blocks: https://github.com/google/leveldb/tree/main/doc */

const LOG_BLOCK = 32_768
const LOG_HEADER = 7

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
