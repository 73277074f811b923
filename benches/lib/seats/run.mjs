// Attempts of tasks that are not stored, in a queue with a store: as they are, with a transaction of that store before each, and
// with one for as long as attempts follow each other.

/** A seat is given back when it has been free for so long, or had for so long: stored tasks must get their turn. */
const FREE_MS = 100
const HAD_MS = 1_000

const seatsOf = {
  none: () => ({ take() {}, leave() {} }),
  each: (transact) => ({ take: transact, leave() {} }),
  kept(transact) {
    let free = []
    return {
      async take() {
        const now = performance.now()
        free = free.filter(({ takenAt, freeAt }) => now - takenAt < HAD_MS && now - freeAt < FREE_MS)
        const kept = free.pop()
        if (kept) return kept
        await transact()
        return { takenAt: now }
      },
      leave: (seat) => free.push({ ...seat, freeAt: performance.now() }),
    }
  },
}

export const WAYS = Object.keys(seatsOf)

/** Attempts a second. `url`: answers any path below it at once. `transact`: a transaction that costs no more than one that takes a seat. */
export async function attempts(RetryQueue, store, { way, url, count, concurrency, transact }) {
  const seats = seatsOf[way](() => transact(store))
  let sent = 0
  const queue = new RetryQueue({
    store,
    principal: 'ann',
    concurrency,
    breaker: false,
    retryBudget: false,
    policy: { initialDelayMs: 0, jitterType: 'NONE' },
    async fetch(...args) {
      sent++
      const seat = await seats.take()
      try {
        return await fetch(...args)
      } finally {
        seats.leave(seat)
      }
    },
  })
  await queue.ready
  queue.pause()
  for (let i = 0; i < count; i++) await queue.enqueue(`${url}${way}-${i}`)
  const start = performance.now()
  queue.resume()
  await queue.idle()
  const ms = performance.now() - start
  const { succeeded } = queue.stats()
  await queue.close()
  if (succeeded !== count) throw new Error(`${succeeded} of ${count} succeeded`)
  return (sent * 1_000) / ms
}
