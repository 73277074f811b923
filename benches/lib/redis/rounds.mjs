// Contestants in turns, of whom each gives several figures at a time; and what a stretch of work costs both processes.
import { median } from '../measure.mjs'
import { orLess } from '../smoke.mjs'

/** Runs `work`, which did `count` things: how many a second, and microseconds of Redis' processor and of this process for each. */
export async function metered(redis, count, work) {
  globalThis.gc?.()
  const redisBefore = await redis.cpuMicros()
  const nodeBefore = process.cpuUsage()
  const start = performance.now()
  await work()
  const seconds = (performance.now() - start) / 1_000
  const { user, system } = process.cpuUsage(nodeBefore)
  const redisMicros = (await redis.cpuMicros()) - redisBefore
  return { rate: count / seconds, redisMicros: redisMicros / count, nodeMicros: (user + system) / count }
}

/**
 * @param {Record<string, () => Promise<object>>} contestants each gives figures by name, or groups of them
 * @returns {Promise<Record<string, any>>} the same shape, each figure as { median, least, most }
 */
export async function inTurns(contestants, { rounds, warmUp = orLess(1, 0) }) {
  const samples = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]))
  for (let round = -warmUp; round < rounds; round++) {
    for (const [name, sample] of Object.entries(contestants)) {
      const figures = await sample()
      if (round >= 0) samples[name].push(figures)
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, list]) => [name, summed(list)]))
}

function summed(list) {
  if (typeof list[0] === 'number') return { median: median(list), least: Math.min(...list), most: Math.max(...list) }
  return Object.fromEntries(Object.keys(list[0]).map((key) => [key, summed(list.map((each) => each[key]))]))
}
