// Many dead letters at once keep no request of others waiting.

import { describe, expect, test } from 'vitest'
import { Operations } from '../../../../js/service/api/operations.ts'
import { bury } from './bury.ts'
import { longestTurn, MOST_TURN_MS } from './longest-turn.ts'
import { type Answered, setup, tokenFor } from './setup.ts'

const COUNT = 100_000
/** Parts of an operation that are measured: all are alike. */
const PARTS = 30

describe.for(['memory', 'sqlite'] as const)('%s', (kind) => {
  test('no turn is long while 100,000 dead letters are counted, put back and exported, and one is purged', {
    timeout: 600_000,
  }, async () => {
    const tokens = [tokenFor('root', null, 'admin')]
    const world = await setup({ kind, sends: false, tokens, capacity: 2 * COUNT })
    const { ask, api, clock, store, context } = world
    await bury(world, COUNT, 'ann')
    const { sanitizer, tellEnds, log } = context
    const operations = new Operations({ store, clock, sanitizer, tellEnds, owner: 'one', log })
    const turns: Record<string, number> = {}
    const measured = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      turns[name] = await longestTurn(async () => void (await work()))
    }
    const headers = { 'redrive-tenant': 'ann' }
    const begin = (path: string, body: object) => ask('POST', path, { body, token: 'root', headers })
    const filter = { origin: 'https://api.test' }
    let begun: Answered | undefined
    await measured('counted', async () => {
      begun = await begin('/dead-letters/redrive', { filter, acceptDuplicateRisk: true })
    })
    expect(begun).toMatchObject({ status: 202, json: { total: COUNT, remaining: COUNT } })
    await measured('put back', async () => {
      for (let part = 0; part < PARTS; part++) {
        await operations.tick()
        await new Promise(setImmediate)
      }
    })
    await measured('export', async () => {
      const request = new Request('http://localhost/dead-letters/export?policyId=other', {
        headers: { host: 'localhost', authorization: 'Bearer root' },
      })
      await (await api.fetch(request)).text()
    })
    const [one] = (await store.list({ limit: 1 })).tasks
    await measured('purged', () => store.purge({ taskId: one?.taskId ?? '' }))
    expect(Object.entries(turns).filter(([, ms]) => ms > MOST_TURN_MS)).toEqual([])
  })
})
