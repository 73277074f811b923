/** An object was made for one principal and one origin: what is of another is neither taken nor sent. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { laneName, type NewTask } from '../../js/api/store.ts'
import { newTask } from '../js/store-contract/kit.ts'
import { atOnce, noGates, quick, taskOf } from './api.ts'
import { Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'
import { Origin } from './origin.ts'

const home = new Origin()
const evil = new Origin()
let edge: Edge

beforeAll(async () => {
  await home.listen()
  await evil.listen()
  edge = await Edge.start({ object: noGates, token: 'Bearer of-the-object' })
})
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]()
  await home.close()
  await evil.close()
})
beforeEach(() => {
  home.seen.length = evil.seen.length = 0
  home.answers = evil.answers = {}
})

const post = { method: 'POST', body: '{}' }
let made = 0
const taskFor = (principal: string | null, origin: string, given: Partial<NewTask> = {}): NewTask =>
  newTask(++made, { principal, origin, withheldHeaders: [], ...given })

test.each([
  ['another principal', () => taskFor('ben', home.url)],
  ['no principal', () => taskFor(null, home.url)],
  ['another origin', () => taskFor('ann', evil.url)],
  ['a target that is not its lane’s', () => taskFor('ann', home.url, { targetUrl: `${evil.url}/orders` })],
])('S16 a task of %s is refused with a code, and nothing of it is kept', async (_, task) => {
  const object = edge.object({ origin: home.url, principal: 'ann' })
  const before = (await object.list()).length
  const taken = await object.ask('enqueue', [task(), taskFor('ann', home.url)])
  expect(taken).toMatchObject([{ outcome: 'refused', code: 'WRONG_OBJECT' }, { outcome: 'stored' }])
  await soon(() => home.seen.length).toBe(1)
  expect(evil.seen).toEqual([])
  expect(await object.list()).toHaveLength(before + 1)
})

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
