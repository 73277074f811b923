// When a body that lies apart from its task goes: real processes, on both stores that processes share.
import { existsSync, readdirSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onLoopback } from '../../../loopback.ts'
import { startServer } from '../../../redis/servers.ts'
import { eventually } from '../../eventually.ts'
import { folder, json, post, start } from '../program.ts'

const INLINE_BYTES = 100
const LARGE = 'x'.repeat(INLINE_BYTES + 1)
const DAY_MS = 86_400_000

/** A target whose answers are held back until `answer`, and a receiver of callbacks, which takes all. */
async function servers() {
  const heard: string[] = []
  const told: { readonly type: string; readonly taskId: string }[] = []
  let answered: (status: number) => void = () => {}
  let answer = new Promise<number>((resolve) => {
    answered = resolve
  })
  const visit = async (request: IncomingMessage): Promise<number> => {
    const body = await text(request)
    if (request.url === '/hooks') {
      const { type, data } = JSON.parse(body)
      told.push({ type, taskId: data.taskId })
      return 204
    }
    heard.push(body)
    return answer
  }
  const url = await onLoopback((request, response) => {
    void visit(request).then((status) => response.writeHead(status).end())
  })
  return {
    target: `${url}/orders`,
    hooks: `${url}/hooks`,
    heard,
    told,
    /** From now on, also to those that wait. */
    answer(status: number): void {
      answered(status)
      answer = Promise.resolve(status)
    },
  }
}

async function setup(kind: 'sqlite' | 'redis') {
  const redis = kind === 'redis' ? await startServer() : undefined
  onTestFinished(() => redis?.end())
  const cwd = folder()
  const stores = ['--store', redis?.url ?? 'sqlite:tasks.db', '--bodies', 'file:bodies']
  const [{ url }, { url: other }] = (await Promise.all(
    [1, 2].map(() => start([...stores, '--inline-body', `${INLINE_BYTES}`], cwd)),
  )) as [Awaited<ReturnType<typeof start>>, Awaited<ReturnType<typeof start>>]
  const server = await servers()
  const hand = async (more: object = {}): Promise<string> => {
    const { target: targetUrl, hooks } = server
    const answer = await post(`${url}/retry-tasks`, { targetUrl, body: LARGE, callback: { url: hooks }, ...more })
    expect(answer.status).toBe(201)
    return String((await json(answer)).taskId)
  }
  const ask = (method: string, path: string, body?: object) =>
    body ? post(`${other}${path}`, body) : fetch(`${other}${path}`, { method })
  const ended = async (taskId: string) =>
    json(await fetch(`${url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
  const bodies = (): readonly string[] => {
    const path = join(cwd, 'bodies')
    const found = existsSync(path) ? readdirSync(path, { recursive: true, withFileTypes: true }) : []
    return found.filter((entry) => entry.isFile()).map(({ name }) => name)
  }
  /** A task that is given up, and whose end is told; gives its id, and the name of its body. */
  const dead = async () => {
    const before = bodies()
    const taskId = await hand()
    const [name = ''] = bodies().filter((each) => !before.includes(each))
    expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED', reason: 'not_retryable' })
    await eventually(() => server.told).toContainEqual({ type: 'task.exhausted', taskId })
    return { taskId, name }
  }
  return { server, url, hand, ask, ended, bodies, dead }
}

describe.each(['sqlite', 'redis'] as const)('on %s a body', (kind) => {
  test('is there while its task is in flight, and is gone once that has succeeded and this was told', async () => {
    const { server, hand, ended, bodies } = await setup(kind)
    const taskId = await hand()
    await eventually(() => server.heard).toEqual([LARGE])
    expect(bodies()).toHaveLength(1)
    server.answer(200)
    expect(await ended(taskId)).toMatchObject({ status: 'SUCCEEDED' })
    await eventually(() => server.told).toEqual([{ type: 'task.succeeded', taskId }])
    await eventually(bodies).toEqual([])
  })

  test('goes with the end of a task that has no callback, and of one that was cancelled', async () => {
    const { server, hand, ask, bodies } = await setup(kind)
    server.answer(200)
    await hand({ callback: undefined })
    await eventually(() => server.heard).toEqual([LARGE])
    await eventually(bodies).toEqual([])
    const taskId = await hand({ delayMs: DAY_MS })
    expect(bodies()).toHaveLength(1)
    expect((await ask('DELETE', `/retry-tasks/${taskId}`)).status).toBe(200)
    await eventually(() => server.told).toEqual([{ type: 'task.cancelled', taskId }])
    await eventually(bodies).toEqual([])
  })

  test('of a dead letter is kept, is sent when that is put back, and goes then', async () => {
    const { server, hand, ask, ended, bodies, dead } = await setup(kind)
    server.answer(400)
    const { taskId, name } = await dead()
    // the ends of others come after it, and their bodies go
    server.answer(200)
    await ended(await hand())
    await eventually(bodies).toEqual([name])
    expect(await (await ask('GET', `/retry-tasks/${taskId}/body`)).text()).toBe(LARGE)
    expect((await ask('POST', `/dead-letters/${taskId}/redrive`, {})).status).toBe(200)
    await eventually(() => server.told.filter((each) => each.taskId === taskId).map(({ type }) => type)).toEqual([
      'task.exhausted',
      'task.succeeded',
    ])
    expect(server.heard).toEqual([LARGE, LARGE, LARGE])
    await eventually(bodies).toEqual([])
  })

  test('of a dead letter goes when that is deleted: alone, and as one of many', async () => {
    const { server, ask, bodies, dead } = await setup(kind)
    server.answer(400)
    const first = await dead()
    const others = [await dead(), await dead()]
    expect((await ask('DELETE', `/dead-letters/${first.taskId}`)).status).toBe(204)
    expect([...bodies()].sort()).toEqual(others.map(({ name }) => name).sort())
    expect((await ask('POST', '/dead-letters/purge', { filter: {}, confirm: 2 })).status).toBe(202)
    await eventually(bodies).toEqual([])
  })

  test('that was uploaded stays: any number of tasks may have it', async () => {
    const { server, url, hand, ask, ended, bodies } = await setup(kind)
    const headers = { 'content-length': `${LARGE.length}` }
    const { bodyRef } = await json(await fetch(`${url}/bodies`, { method: 'POST', body: LARGE, headers }))
    const uploaded = { body: undefined, bodyRef }
    server.answer(400)
    const taskId = await hand(uploaded)
    expect(await ended(taskId)).toMatchObject({ status: 'EXHAUSTED' })
    expect((await ask('DELETE', `/dead-letters/${taskId}`)).status).toBe(204)
    server.answer(200)
    expect(await ended(await hand(uploaded))).toMatchObject({ status: 'SUCCEEDED' })
    await ended(await hand())
    await eventually(bodies).toHaveLength(1)
    expect(server.heard).toEqual([LARGE, LARGE, LARGE])
  })
})
