// How far a run of several suites has come: the share of each by the time it took this machine the last time, or else by what it
// took on two cores, and from that the time that is left.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { at } from '../lib/paths.mjs'
import { duration, tell } from '../lib/steps.mjs'

const EVERY_MS = 30_000
/** A suite that takes longer than it did is not done. */
const MOST = 0.95

function remembered(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {} // the first run here
  }
}

/**
 * @param {readonly string[]} names
 * @param {'quick' | 'full' | 'all'} size
 * @param {(name: string) => { [size: string]: number }} secondsOf what a suite took elsewhere
 */
export function beginProgress(names, size, secondsOf) {
  const file = at('target', 'test', `seconds-${size}.json`)
  const before = remembered(file)
  const seconds = new Map(names.map((name) => [name, before[name] ?? secondsOf(name)[size] ?? secondsOf(name).full]))
  const expected = (name) => seconds.get(name) ?? 0
  const total = names.reduce((sum, name) => sum + expected(name), 0)
  const since = new Map()
  const done = new Set()
  const share = (name) => {
    if (done.has(name)) return 1
    const began = since.get(name)
    return began === undefined ? 0 : Math.min((performance.now() - began) / 1_000 / expected(name), MOST)
  }
  /** Seconds: two lanes share what is left, and none ends before its longest suite. */
  const left = () => {
    const each = names.map((name) => expected(name) * (1 - share(name)))
    return Math.max(each.reduce((sum, seconds) => sum + seconds, 0) / 2, ...each)
  }
  const percent = (part) => `${Math.round(100 * part)} %`
  /** The share of one that runs, or that it takes longer than it did. */
  const wordsOf = (name) => {
    const tookMs = performance.now() - since.get(name)
    const usual = 1_000 * expected(name)
    return tookMs > usual
      ? `${name} ${duration(tookMs)} (usually ${duration(usual)})`
      : `${name} ${percent(share(name))}`
  }
  const words = () => {
    const all = names.reduce((sum, name) => sum + expected(name) * share(name), 0) / total
    return done.size === names.length
      ? '100 % of the run'
      : `${percent(all)} of the run, about ${duration(1_000 * left())} left`
  }
  const say = () => {
    const running = names.filter((name) => since.has(name) && !done.has(name))
    if (running.length > 0) tell(`… ${running.map(wordsOf).join(', ')}; ${words()}`)
  }
  const timer = setInterval(say, EVERY_MS)
  timer.unref()
  if (names.length > 1) tell(`${size}: ${names.join(', ')}; about ${duration(1_000 * left())} once they are built`)
  return {
    words,
    began: (name) => since.set(name, performance.now()),
    /** `counts`: what it took this time is what to expect the next time. */
    ended(name, counts) {
      done.add(name)
      if (!counts) return
      before[name] = Math.max(1, Math.round((performance.now() - since.get(name)) / 1_000))
      mkdirSync(at('target', 'test'), { recursive: true })
      writeFileSync(file, JSON.stringify(before))
    },
    close: () => clearInterval(timer),
  }
}
