// What is due when. N tasks wait; a step takes out one that is due and puts it back 0 to 60 s later, as a failed attempt
// does. Time jumps to the next that is due. The core does all that an attempt means besides (lane, limits, verdict, curve,
// jitter), through its boundary; the heaps do nothing else.

import FlatQueue from 'flatqueue'
import TinyQueue from 'tinyqueue'
import { Calls } from '../../../js/core/calls.ts'
import { NONE, OP_ADMIT, OP_LANE, OP_POLL, OP_SETTLE, OP_WAKE_AT } from '../../../js/core/codes.ts'
import { instantiate } from '../../../js/core/file.ts'
import { policyFields } from '../../../js/core/policy-row.ts'
import { policyDefaults } from '../../../js/options/policy.ts'
import { resolvePolicy } from '../../../js/options/policy-rules.ts'

export const sizesOf = ({ full, smoke }) => (smoke ? [1_000] : [1_000, 10_000, 100_000, ...(full ? [1_000_000] : [])])

const LONGEST_MS = 60_000
const START = Date.UTC(2030, 0, 1)
/** Steps a sample. A task is tried a hundred times at most, so a sample has at most fifty a task. */
const STEPS = 20_000
const ATTEMPTS = 100

const wait = () => Math.floor(Math.random() * (LONGEST_MS + 1))

/** Times `step`s that each say how many entries they moved. */
function timed(step) {
  const started = performance.now()
  let steps = 0
  while (steps < STEPS) steps += step()
  return ((performance.now() - started) * 1e6) / steps
}

function flatQueue(n) {
  const heap = new FlatQueue()
  for (let i = 0; i < n; i++) heap.push(i, START + wait())
  return () =>
    timed(() => {
      const now = heap.peekValue()
      heap.push(heap.pop(), now + wait())
      return 1
    })
}

function tinyQueue(n) {
  const heap = new TinyQueue([], (a, b) => a.due - b.due)
  for (let i = 0; i < n; i++) heap.push({ i, due: START + wait() })
  return () =>
    timed(() => {
      const task = heap.pop()
      task.due += wait()
      heap.push(task)
      return 1
    })
}

const NEVER = Number.POSITIVE_INFINITY

/** `concurrency` is how many come out of one call at most. */
async function core(n, concurrency) {
  const engine = await instantiate()
  const fields = policyFields(
    resolvePolicy(
      { initialDelayMs: LONGEST_MS, maxDelayMs: LONGEST_MS, multiplier: 1, maxAttempts: ATTEMPTS },
      policyDefaults,
    ),
  )
  let queue
  let now
  const step = () => {
    const count = queue.call(OP_POLL, now)
    if (count === 0) {
      now = Math.max(now, queue.call(OP_WAKE_AT))
      return 0
    }
    const actions = Array.from({ length: 2 * count }, (_, i) => queue.at(1 + i))
    for (let i = 0; i < actions.length; i += 2) {
      if (actions[i + 1] !== 0) throw new Error(`the core ended a task: ${actions[i + 1]}`)
      const verdict = queue.send(OP_SETTLE, now, actions[i], 0, 503, Number.NaN, 0)
      if (verdict !== 1) throw new Error(`the core did not retry: ${verdict}`)
    }
    return count
  }
  const fill = () => {
    queue?.free()
    queue = new Calls(engine, concurrency, concurrency, n, Number.MAX_SAFE_INTEGER, 60_000, 1n)
    const lane = queue.call(OP_LANE)
    const policy = queue.policy(fields)
    now = START
    for (let i = 0; i < n; i++) queue.send(OP_ADMIT, now, lane, policy, 0, 0, 1, now, NEVER, NEVER, NONE, Number.NaN)
    // each fails once, and waits from then on
    for (let failed = 0; failed < n; ) failed += step()
  }
  fill()
  const samplesAtMost = Math.floor((n * (ATTEMPTS / 2)) / STEPS)
  let samples = 0
  return () => {
    if (++samples > samplesAtMost) {
      fill()
      samples = 1
    }
    return timed(step)
  }
}

export async function groups(env) {
  const all = []
  for (const n of sizesOf(env)) {
    all.push({
      name: String(n),
      rounds: 15,
      contestants: {
        flatqueue: { sample: flatQueue(n) },
        tinyqueue: { sample: tinyQueue(n) },
        'redrive core, 6 at a time': { sample: await core(n, 6) },
        'redrive core, 64 at a time': { sample: await core(n, 64) },
      },
    })
  }
  return all
}
