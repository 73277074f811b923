// Faults and waits by lot, from a seed: whoever sends the same request for the same time is answered alike.

/** A fair lot in [0, 1) from a few numbers. */
export function lot(...numbers) {
  let hash = 0x811c9dc5
  for (const number of numbers) {
    for (let shift = 0; shift < 32; shift += 8) hash = Math.imul(hash ^ ((number >>> shift) & 0xff), 0x01000193)
  }
  // FNV-1a leaves its high bits poor: a round of murmur's finalizer
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** The waits of everyone where all are alike: full jitter below 100 ms, 200 ms, 400 ms and so on; ten attempts. */
export const ALIKE = { attempts: 10, initialMs: 100 }
export const waitOf = (seed, id, retry) => lot(seed, id, retry, 1) * ALIKE.initialMs * 2 ** (retry - 1)

/** `failShare`: of the requests. `awayMs`: how long the port is closed once a quarter of the calls has been seen. */
export const WORLDS = {
  'fails 30 %': { failShare: 0.3, awayMs: 0 },
  'is away for 5 s': { failShare: 0, awayMs: 5_000 },
}
