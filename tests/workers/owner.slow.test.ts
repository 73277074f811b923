/** An object was made for one principal and one origin: what is of another is neither taken nor sent. */

import { expect, test } from 'vitest'
import { laneName } from '../../js/api/store.ts'
import { duringTests } from '../during.ts'
import { atOnce, noGates, quick, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { originDuringTests } from './origin.ts'

const home = originDuringTests()
const evil = originDuringTests()

const edge = duringTests(() => Edge.start({ object: noGates, token: 'Bearer of-the-object' }))

const post = { method: 'POST', body: '{}' }

test.each([
  ['its target', 'amy', (url: string) => [`UPDATE tasks SET targetUrl = '${url}/stolen'`]],
  [
    'all that says where to',
    'bea',
    (url: string) => [
      `UPDATE tasks SET targetUrl = '${url}/stolen', origin = '${url}', lane = '${laneName('bea', url)}'`,
      `UPDATE lanes SET name = '${laneName('bea', url)}'`,
    ],
  ],
  [
    'all that says whose it is',
    'cid',
    (url: string) => [
      `UPDATE tasks SET targetUrl = '${url}/stolen', origin = '${url}', principal = 'ben', lane = '${laneName('ben', url)}'`,
      `UPDATE lanes SET name = '${laneName('ben', url)}', principal = 'ben'`,
    ],
  ],
])(
  'S12 S16 a row in which %s was changed is not sent, and no credential goes anywhere with it',
  async (_, principal, changes) => {
    home.answers = { '/kept': [[503]] }
    const url = `${home.url}/kept`
    const later = { ...atOnce, principal, policy: { ...quick, initialDelayMs: 2_000 } }
    const taskId = taskOf(await edge.call(url, post, later))
    const object = edge.object({ origin: home.url, principal })
    for (const change of changes(evil.url)) await object.ask('rows', change)
    await object.abort()
    await soon(async () => (await object.look()).degraded.length).toBeGreaterThan(0)
    expect(home.seen).toHaveLength(1)
    expect(evil.seen).toEqual([])
    await object.ask('purge', { taskId })
  },
)

test('the object’s own tasks go on beside such a row', async () => {
  home.answers = { '/own': [[503], [200]] }
  const taskId = taskOf(await edge.call(`${home.url}/own`, post, { ...atOnce, principal: 'ann' }))
  await reaches(edge.object({ origin: home.url, principal: 'ann' }), taskId, 'SUCCEEDED')
  expect(home.seen.at(-1)?.authorization).toBe('Bearer of-the-object')
})
