/** SIGTERM while clients post as fast as they can: each gets a whole answer or no connection, and what was accepted is there. */

import { describe, expect, test } from 'vitest'
import { freshFolder } from '../../folder.ts'
import { startServer } from '../../redis/servers.ts'
import { type Farewell, farewell, storeIn } from './farewell.ts'
import { farewellChecks } from './farewell-run.ts'
import { EXIT_MS } from './options.ts'

const TIMEOUT_MS = 120_000
const AFTER_MS = 1_000

const broken = (all: readonly Farewell[]) =>
  farewellChecks(all)
    .filter(({ ok }) => !ok)
    .map(({ label, offenders }) => [label, ...offenders])

describe('a process that is told to end under load', () => {
  test('keeps all that it accepted in a file, and cuts no answer', { timeout: TIMEOUT_MS }, async () => {
    const made = freshFolder()
    expect(broken([await farewell({ folder: made, store: storeIn(made), afterMs: AFTER_MS })])).toEqual([])
  })

  test('keeps all that it accepted in Redis, and cuts no answer', { timeout: TIMEOUT_MS }, async () => {
    await using redis = await startServer({ appendonly: true, appendfsync: 'always' })
    expect(broken([await farewell({ folder: freshFolder(), store: redis.url, afterMs: AFTER_MS })])).toEqual([])
  })

  test('is found out where it cuts them', { timeout: TIMEOUT_MS }, async () => {
    const made = freshFolder()
    const told = await farewell({ folder: made, store: storeIn(made), afterMs: AFTER_MS, mutant: 'cuts-answers' })
    expect(broken([told])).toContainEqual(expect.arrayContaining(['SIGTERM: answers cut']))
  })
})

describe('what its judge notices', () => {
  const fine: Farewell = {
    ...{ code: 0, signal: null, tookMs: 300, requests: 5, accepted: ['t1', 't2'] },
    ...{ cut: [], strange: [], draining: 1, lost: [] },
  }

  test('nothing where all is well', () => {
    expect(broken([fine])).toEqual([])
  })

  test.each([
    ['SIGTERM: answers cut', { cut: ['3 ms: ECONNRESET'] }],
    ['SIGTERM: accepted and lost', { lost: ['t1'] }],
    ['SIGTERM: answers that say neither', { strange: ['500'] }],
    ['SIGTERM: ended otherwise than with 0, or too late', { code: 1 }],
    ['SIGTERM: ended otherwise than with 0, or too late', { code: null, signal: 'SIGTERM' }],
    ['SIGTERM: ended otherwise than with 0, or too late', { tookMs: EXIT_MS + 1 }],
    ['SIGTERM: tasks accepted before each', { accepted: [] }],
  ])('%s', (label, given) => {
    expect(broken([fine, { ...fine, ...given }]).map(([name]) => name)).toEqual([label])
  })
})
