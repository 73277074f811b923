/** S12 in a Worker and its object: a secret in every place that can hold one, then a look into every byte on the disk. */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Canaries } from '../js/canaries.ts'
import { CanaryServer } from '../js/canary-server.ts'
import { DENIED, LOOKED_INTO } from '../js/canary-slots.ts'
import { noGates, patient, quick, taskOf } from './api.ts'
import { type Answers, Edge } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

const MARKER = { header: 'marker-in-a-header', path: 'marker-in-a-path', body: 'marker-in-a-body' }
const ENOUGH = 150

const canaries = new Canaries()
const server = new CanaryServer(canaries)
const files: { readonly where: string; readonly bytes: Uint8Array }[] = []
const told: { readonly where: string; readonly bytes: Uint8Array }[] = []
let edge: Edge

beforeAll(async () => {
  await server.start()
  const credentials = Object.fromEntries(
    [...DENIED, ...LOOKED_INTO.map(([name]) => name)].map((name) => [name, canaries.make(`credentials() for ${name}`)]),
  )
  edge = await Edge.start({ object: noGates, token: canaries.make('TOKEN of the object'), credentials })
})
afterAll(async () => {
  await edge?.[Symbol.asyncDispose]()
  await server.close()
})

const object = () => edge.object({ origin: `http://127.0.0.1:${server.port}` })
const url = (kind: string, rest = ''): string =>
  `http://127.0.0.1:${server.port}/${kind}/${MARKER.path}-${flows++}${rest}`
const policy = { ...quick, maxAttempts: 4 }
const options = { ...patient, policy, inlineAttempts: 2 }
let flows = 0

/** With a secret in every header that is denied or looked into. */
function init(
  flow: string,
  names: readonly string[] = DENIED,
): { method: string; body: string; headers: Record<string, string> } {
  const headers: Record<string, string> = { 'x-correlation-id': MARKER.header, 'content-type': 'application/json' }
  for (const name of names) headers[name] = canaries.makeSent(`${flow}: ${name}`)
  for (const [name, shape] of LOOKED_INTO) headers[name] = canaries.makeSent(`${flow}: ${name}`, shape)
  return { method: 'POST', body: JSON.stringify({ said: MARKER.body, flow }), headers }
}

const query = (flow: string, make: (slot: string) => string): string =>
  `?page=2&${['token', 'sig', 'access_token', 'X-Amz-Signature', 'password'].map((name) => `${name}=${make(`${flow}: ${name}`)}`).join('&')}`

const tell = (where: string, what: unknown): void =>
  void told.push({ where, bytes: Buffer.from(JSON.stringify(what) ?? '') })

/** What a caller gets of its server is its own; a 202 is not. */
function tellAnswers({ answers, degraded }: Answers): void {
  tell('degraded', degraded)
  for (const answer of answers) if (answer.status === 202) tell('202', answer)
}

function snapshot(when: string): void {
  files.push(...edge.files().map(({ path, bytes }) => ({ where: `${path} ${when}`, bytes })))
}

/** Everything there is to ask. */
async function look(): Promise<void> {
  const tasks = await object().list()
  tell('list', tasks)
  for (const { taskId } of tasks) {
    tell('get', await object().get(taskId))
    tell('attempts', await object().attempts(taskId))
    tell('explain', await object().explain(taskId))
  }
  tell('stats', await object().ask('stats'))
  tell('look', await object().look())
}

const leaksIn = (texts: typeof told): string[] =>
  [...new Set(texts.flatMap(({ where, bytes }) => canaries.foundIn(bytes).map((slot) => `${where}: ${slot}`)))].sort()

function expectNoLeak(): void {
  expect(leaksIn([...files, ...told])).toEqual([])
}

const send = async (
  kind: string,
  given: ReturnType<typeof init>,
  rest = '',
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answers> => {
  const answers = await edge.calls([{ url: url(kind, rest), init: given }], { ...options, ...more })
  tellAnswers(answers)
  return answers
}

test('S12 tasks that are handed over, sent, refused and given up', async () => {
  const ended: string[] = []
  for (const kind of ['down', 'reset', 'flaky', 'refused']) {
    const { answers } = await send(kind, init(kind), '', { inlineAttempts: 1 })
    if (answers[0]?.status === 202) ended.push(taskOf(answers[0]))
  }
  expect(ended.length).toBeGreaterThan(2)
  snapshot('after the hand-over')
  for (const taskId of ended)
    await soon(async () => (await object().get(taskId))?.status).toMatch(/SUCCEEDED|EXHAUSTED/)
  snapshot('when they have ended')
  server.up = true
  const dead = await object().list({ status: 'EXHAUSTED' })
  expect(dead.length).toBeGreaterThan(0)
  for (const { taskId } of dead) tell('redriven', await object().ask('redrive', taskId))
  for (const { taskId } of dead) await reaches(object(), taskId, 'SUCCEEDED')
  server.up = false
  await look()
  expectNoLeak()
})

test('S12 a secret in the URL is not handed over; the caller has its own answer', async () => {
  const secrets = query('in the URL', (slot) => canaries.makeSent(slot, 'hex'))
  const { answers, degraded } = await send('down', init('in the URL', []), secrets)
  expect(answers).toMatchObject([{ status: 503 }])
  expect(degraded.map(({ code }) => code)).toContain('url_secret')
  snapshot('after a secret in the URL')
  await look()
  expectNoLeak()
})

test('S12 a secret in the URL is stripped where that is asked for', async () => {
  const secrets = query('stripped', (slot) => canaries.makeSent(slot, 'hex'))
  const { answers } = await send('down', init('stripped', []), secrets, { sanitize: { urlSecrets: 'strip' } })
  expect(answers).toMatchObject([{ status: 202 }])
  snapshot('after a stripped URL')
  await look()
  expectNoLeak()
})

test('S12 what is sensitive, and a header on no list, stay in the Worker', async () => {
  const sensitive = { ...init('sensitive'), redrive: { sensitive: true } }
  expect((await send('down', sensitive)).answers).toMatchObject([{ status: 503 }])
  const unknown = { method: 'POST', body: '{}', headers: { 'x-acme': canaries.makeSent('on no list') } }
  await send('down', unknown)
  snapshot('after what stays')
  expectNoLeak()
})

test('S12 a process killed with tasks on its hands leaves no secret behind', async () => {
  const slow = { ...options, policy: { ...policy, initialDelayMs: 60_000 }, inlineAttempts: 1 }
  tellAnswers(await edge.calls([{ url: url('down'), init: init('killed') }], slow))
  await edge.kill()
  snapshot('after the kill')
  await edge.start()
  await look()
  snapshot('after the restart')
  expectNoLeak()
})

test('every secret that was to be sent has reached the server, and there were enough of them', () => {
  expect(canaries.all.length).toBeGreaterThanOrEqual(ENOUGH)
  const arrived = canaries.foundIn(Buffer.from(server.received.join('\n')))
  const missing = [...canaries.sent].filter(({ slot }) => !arrived.some((found) => found.startsWith(`${slot} as`)))
  expect(missing.map(({ slot }) => slot)).toEqual([])
})

test.each(Object.entries(MARKER))('what is harmless is found on the disk: in a %s', (_, marker) => {
  expect(files.some(({ bytes }) => Buffer.from(bytes).includes(marker))).toBe(true)
})
