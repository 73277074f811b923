/**
 * Every point at which a story can be cut short: at each of its store calls, the call fails before it was done, or is done
 * and its answer lost, or the process dies right before or right after. Then a second process goes on.
 */

import { beforeAll, describe, expect, test } from 'vitest'
import type { CallFault } from '../redis/sync-port.ts'
import { tell } from '../sim/crash-story.ts'
import type { StoreFault } from '../sim/scenario.ts'
import { bySize } from '../size.ts'

const FAULTS: readonly StoreFault[] = ['fail-before', 'fail-after', 'crash-before', 'crash-after']
/** In quick, some of the points. */
const STEP = bySize(13, 1)
const WELL = { violation: undefined, waiting: [], live: 0, lost: [], twice: [] }

describe.each(['memory', 'sqlite'] as const)('%s', (store) => {
  let calls = 0
  beforeAll(async () => {
    calls = (await tell(store)).calls
  })

  test('the story by itself ends well', async () => {
    const { violation, waiting, live, lost, twice, acknowledged } = await tell(store)
    expect({ violation, waiting, live, lost, twice }).toEqual(WELL)
    expect(acknowledged).toBeGreaterThan(0)
    expect(calls).toBeGreaterThan(0)
  })

  test.for(FAULTS)(
    'S1 S5 S14 S22 nothing is lost or done twice: %s, at each store call',
    { timeout: 300_000 },
    async (fault) => {
      expect(calls).toBeGreaterThan(0)
      for (let at = 1; at <= calls; at += STEP) {
        const { violation, waiting, live, lost, twice } = await tell(store, { at, fault })
        expect({ at, violation, waiting, live, lost, twice }).toEqual({ at, ...WELL })
      }
    },
  )
})

/** A store that asks a server may ask it several times a call, or again: what goes wrong does so between these two. */
describe('redis', () => {
  let sent = 0
  beforeAll(async () => {
    sent = (await tell('redis')).sent
  })

  test('the story by itself ends well', async () => {
    const { violation, waiting, live, lost, twice, acknowledged } = await tell('redis')
    expect({ violation, waiting, live, lost, twice }).toEqual(WELL)
    expect(acknowledged).toBeGreaterThan(0)
  })

  test.for<CallFault>(['crash-before', 'crash-after', 'fail-before', 'fail-after'])(
    'S1 S5 S14 S22 nothing is lost or done twice: %s, at each call to the server',
    { timeout: 300_000 },
    async (fault) => {
      expect(sent).toBeGreaterThan(0)
      // where an answer is lost and its process lives on, what it was told is not all that was done
      const isBlind = fault === 'fail-after'
      for (let at = 1; at <= sent; at += STEP) {
        const { violation: seen, waiting, live, lost, twice } = await tell('redis', { at, of: 'server', fault })
        const violation = isBlind ? undefined : seen
        expect({ at, violation, waiting, live, lost, twice }).toEqual({ at, ...WELL })
      }
    },
  )
})
