// Benches that run in Node and in a page alike. A suite is a module of lib/suites/ whose `groups(env)` gives groups of
// contestants; within a group they take turns. What only one of the two has, a suite leaves out where `env` lacks it.
import { takeTurns } from './measure.mjs'

/** Many short samples: on a machine with other work most of them go undisturbed. A page's clock is as coarse as 5 us. */
const SAMPLE_MS = 1
const WARM_UP_MS = 40

async function runs(work, count) {
  const start = performance.now()
  if (work() instanceof Promise) {
    for (let i = 1; i < count; i++) await work()
  } else for (let i = 1; i < count; i++) work()
  return performance.now() - start
}

/** Gives nanoseconds per call of `work`, which either gives a promise each time or never. */
async function sampler(work, { smoke }) {
  let count = 1
  for (let warm = 0; warm < (smoke ? 1 : WARM_UP_MS); ) {
    const took = await runs(work, count)
    warm += took
    count = Math.max(1, Math.ceil(count * Math.min(10, SAMPLE_MS / Math.max(took, 0.01))))
  }
  return async () => ((await runs(work, count)) * 1e6) / count
}

/** Contestants that do not give the same answer are no contestants. */
async function sameAnswers(name, contestants) {
  let first
  for (const [who, work] of Object.entries(contestants)) {
    const answer = JSON.stringify(await work())
    first ??= answer
    if (answer !== first) throw new Error(`${name}: '${who}' gives ${answer} where the first gives ${first}`)
  }
}

/** A contestant with `sample` times itself and gives ns; one that is a function is called over and over. */
const toSample = (contestant, env) => contestant.sample ?? sampler(contestant, env)

/**
 * @param {{ groups(env: object): Promise<readonly { name: string, same?: boolean, rounds?: number, contestants: object }[]> }} suite
 * @returns {Promise<Record<string, Record<string, number>>>} group -> contestant -> ns per call, medians
 */
export async function measureSuite(suite, env) {
  const figures = {}
  for (const { name, same = false, rounds = 61, contestants } of await suite.groups(env)) {
    if (same) await sameAnswers(name, contestants)
    const samples = {}
    for (const [who, contestant] of Object.entries(contestants)) samples[who] = await toSample(contestant, env)
    figures[name] = await takeTurns(samples, { rounds: env.smoke ? 1 : rounds, warmUp: 2, collect: false })
  }
  return figures
}
