/** The core's memory grows with what it holds, and in few steps: each has V8 make a new buffer, and collect garbage every now and then. */
import { expect, test } from 'vitest'
import { admit, Calls } from '../../js/core/calls.ts'
import { NONE, OP_LANE } from '../../js/core/codes.ts'
import { instantiate } from '../../js/core/file.ts'
import { policyFields } from '../../js/core/policy-row.ts'
import { resolvePolicy } from '../../js/options/policy-rules.ts'

test('300,000 tasks take 110 bytes each of the core at most, for which its memory grows 200 times at most', async () => {
  const engine = await instantiate()
  const { memory } = engine
  const most = 300_000
  const core = new Calls(engine, 6, 6, most, 2 ** 50, 60_000, 7n)
  const lane = core.call(OP_LANE)
  const policy = core.policy(policyFields(resolvePolicy({})))
  const never = { expiresAt: Number.POSITIVE_INFINITY, waitUntil: Number.POSITIVE_INFINITY }
  const task = {
    now: 1,
    lane,
    policy,
    priority: 0,
    bytes: 0,
    flags: 1,
    createdAt: 1,
    ...never,
    startedAt: Number.NaN,
  }
  const before = memory.buffer.byteLength
  let { buffer } = memory
  let steps = 0
  let refused = 0
  for (let i = 0; i < most; i++) {
    if (admit(core, task, NONE) === NONE) refused++
    if (memory.buffer === buffer) continue
    buffer = memory.buffer
    steps++
  }
  const bytes = (memory.buffer.byteLength - before) / most
  expect(bytes).toBeLessThan(110)
  expect([refused, steps < 200]).toEqual([0, true])
})
