// Contestants take turns, round after round, so that a busy spell of the machine hits all of them alike.
import { orLess } from './smoke.mjs'

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const quantile = (values, q) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

/**
 * @param {Record<string, () => Promise<number> | number>} contestants each gives one figure a call
 * @param {boolean} [turn.collect] whether each starts on a clean heap; several collections with a function unused between
 * them throw its compiled code away, so with many contestants and short samples this measures the compiler
 * @returns {Promise<Record<string, number>>} the medians
 */
export async function takeTurns(contestants, { rounds, warmUp = 1, collect = true }) {
  const figures = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]))
  const end = orLess(rounds)
  for (let round = orLess(-warmUp, 0); round < end; round++) {
    for (const [name, sample] of Object.entries(contestants)) {
      if (collect) globalThis.gc?.()
      const figure = await sample()
      if (round >= 0) figures[name].push(figure)
    }
  }
  return Object.fromEntries(Object.entries(figures).map(([name, values]) => [name, median(values)]))
}

/** Microseconds per call of `work`, called `count` times one after the other. */
export async function eachMicros(count, work) {
  const start = performance.now()
  for (let i = 0; i < count; i++) await work(i)
  return ((performance.now() - start) * 1_000) / count
}

/** Slope of log y over log x by least squares: 0 does not grow, 1 grows as x does. */
export function exponent(points) {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)])
  const mean = (i) => logs.reduce((sum, point) => sum + point[i], 0) / logs.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const above = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const below = logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return above / below
}
