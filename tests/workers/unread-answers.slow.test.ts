/** In a real workerd: answers that no caller reads cost neither memory nor connections, whatever they hold. */

import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { constants, createBrotliCompress } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { duringTests } from '../during.ts'
import { serving } from '../loopback.ts'
import { atOnce, noGates, quick, taskOf } from './api.ts'
import { children } from './harness/children.ts'
import { Edge, type EdgeObject } from './harness/edge.ts'
import { reaches, soon } from './harness/soon.ts'

/** Size of the answer once it is unpacked; what one attempt may leave of it in memory is far less. */
const BOMB_MIB = 512
const ROOM_MIB = 128

let bomb: Buffer
const hits = new Map<string, number>()
let unfinished = 0

/** `/<kind>/<name>`: two answers of 503 and then 200, each with a body that is a bomb, or that hangs. */
const answer: RequestListener = (request, response) => {
  const path = request.url ?? ''
  const [, kind] = path.split('/')
  const before = hits.get(path) ?? 0
  hits.set(path, before + 1)
  const status = before < 2 ? 503 : 200
  if (kind === 'bomb') {
    response.writeHead(status, { 'content-encoding': 'br', 'content-length': bomb.length }).end(bomb)
    return
  }
  unfinished++
  response.on('close', () => unfinished--)
  response.writeHead(status)
  response.write('and then')
}
const site = duringTests(() => serving(answer))
const edge = duringTests(() => Edge.start({ object: { ...noGates, policy: quick } }))
const object = (): EdgeObject => edge.object({ origin: site.url })

beforeAll(async () => {
  const zeros = Array(BOMB_MIB).fill(Buffer.alloc(2 ** 20))
  bomb = await buffer(
    Readable.from(zeros).pipe(createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })),
  )
})

/** The most memory that a workerd of this test has had. */
function mostMiB(): number {
  const peaks = children('workerd').map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  })
  return Math.max(...peaks)
}

test('a task is delivered though each answer unpacks to 512 MiB, and no answer is unpacked', async () => {
  const before = mostMiB()
  const taskId = taskOf(await edge.call(`${site.url}/bomb/away`, { method: 'POST', body: '{}' }, atOnce))
  await reaches(object(), taskId, 'SUCCEEDED')
  expect(hits.get('/bomb/away')).toBe(3)
  expect(mostMiB() - before).toBeLessThan(ROOM_MIB)
})

test('a task is delivered though no answer ends, and no connection is left', async () => {
  const tasks: string[] = []
  for (let i = 0; i < 5; i++) {
    tasks.push(taskOf(await edge.call(`${site.url}/hang/${i}`, { method: 'POST', body: '{}' }, atOnce)))
  }
  for (const taskId of tasks) await reaches(object(), taskId, 'SUCCEEDED')
  await soon(() => unfinished).toBe(0)
})

test('a Worker that tries again while its request lives unpacks none that it does not give', async () => {
  const before = mostMiB()
  const answer = await edge.call(
    `${site.url}/bomb/here`,
    { method: 'PUT', body: '{}' },
    { ...atOnce, inlineAttempts: 2 },
  )
  expect(answer.status).toBe(202)
  expect(mostMiB() - before).toBeLessThan(ROOM_MIB)
})
