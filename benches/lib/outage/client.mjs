// Makes the calls of one contestant, and says how they went.
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { contestants } from './contestants.mjs'

const PATIENCE_MS = 45_000
const { name, url, calls, arrival, awayFromMs, awayMs } = JSON.parse(process.argv[2])
const { call, close } = await contestants[name].open()
await call(url)
const begun = performance.now()
const now = () => performance.now() - begun
const isAway = (at) => at >= awayFromMs && at < awayFromMs + awayMs
// a connection that is refused comes to no server: it is counted where it sets out
let connections = 0
subscribe('net.client.socket', () => {
  if (isAway(now())) connections++
})
process.send({ begun: true })
const ends = []
const one = async (madeAt) => {
  const end = { madeAt, ok: false, endedAt: Number.NaN }
  ends.push(end)
  try {
    await call(url)
    end.ok = true
  } catch {
    // counted
  }
  end.endedAt = now()
}
const running = []
const [size, everyMs] = arrival === 'bursts' ? [100, 1_000] : [1, 10]
if (arrival === 'one') await sleep(2 * awayFromMs)
for (let made = 0; made < calls; made += size) {
  await sleep(Math.max(0, (made / size) * everyMs - now()))
  const madeAt = now()
  for (let i = 0; i < Math.min(size, calls - made); i++) running.push(one(madeAt))
}
await Promise.race([Promise.all(running), sleep(PATIENCE_MS)])
const lost = ends.filter(({ ok }) => !ok)
const lastAt = Math.max(...ends.map(({ endedAt }) => (Number.isNaN(endedAt) ? now() : endedAt)))
const backAt = awayFromMs + awayMs
// the last answer of those that met the outage
const met = ends.filter(({ madeAt }) => madeAt < backAt)
const took = ends.filter(({ ok }) => ok).map(({ madeAt, endedAt }) => endedAt - madeAt)
// of the calls in the order in which they were made, ten by ten
const lostInTens = Array.from(
  { length: calls / 10 },
  (_, i) => ends.slice(i * 10, i * 10 + 10).filter(({ ok }) => !ok).length,
)
process.send({
  connections,
  lostInTens,
  errors: lost.length,
  late: lost.filter(({ madeAt }) => madeAt >= backAt).length,
  seconds: lastAt / 1_000,
  tail: Math.max(0, Math.max(...met.map(({ endedAt }) => (Number.isNaN(endedAt) ? now() : endedAt))) - backAt) / 1_000,
  p50: took.sort((a, b) => a - b)[took.length >> 1],
})
await Promise.race([close?.(), sleep(1_000)])
process.exit()
