// Signatures on their way to the target, and the program that reads credentials and keys from files of its own.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { eventually } from '../eventually.ts'
import { sha256 } from './api/setup.ts'
import { target } from './loopback.ts'
import { folder, json, post as postTo, start } from './program.ts'
import { QUICK, secretFile, setup } from './service-setup.ts'

describe('a signature', () => {
  const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

  test('is made for each attempt over what is sent, and passes the reference library', async () => {
    const { url, seen } = await target(() => (seen.length < 2 ? 503 : 200))
    const { from } = secretFile(whsec)
    const { post, ended, log, store } = await setup({ signing: { hooks: { keys: [{ from }] } } })
    const task = await ended(
      await post('/retry-tasks', { targetUrl: url, json: { order: 'Zoë' }, signing: 'hooks', policy: QUICK }),
    )
    expect(task).toMatchObject({ status: 'SUCCEEDED', signing: 'hooks' })
    for (const { body, path: _, ...headers } of seen) {
      expect(headers['webhook-id']).toBe(task.taskId)
      expect(new Webhook(whsec).verify(body, headers as Record<string, string>)).toEqual({ order: 'Zoë' })
    }
    const told = JSON.stringify([log, task, (await store.list({ limit: 10 })).tasks])
    expect(told).not.toContain(whsec.slice(6))
    for (const { 'webhook-signature': signature } of seen) expect(told).not.toContain(String(signature).slice(3))
  })

  test('whose key cannot be read gives the attempt back', async () => {
    const { url, seen } = await target()
    const { from, write } = secretFile('whsec_short')
    const { post, ask, log } = await setup({ signing: { hooks: { keys: [{ from }] } } })
    const { taskId } = await json(
      await post('/retry-tasks', { targetUrl: url, json: 1, signing: 'hooks', policy: QUICK }),
    )
    await eventually(() => log.filter(({ event }) => event === 'signing_failed').length).toBe(1)
    expect(seen).toEqual([])
    write(whsec)
    const ended = await json(await ask(`/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } }))
    expect(ended).toMatchObject({ status: 'SUCCEEDED', attemptNumber: 1 })
  })
})

describe('the program', () => {
  test('reads both from files of their own, again on SIGHUP, and says what it has by name', async () => {
    const { origin, url, seen } = await target()
    const tokens = [{ sha256: sha256('rd_a'), tenant: 'acme', scopes: ['tasks:write', 'tasks:read'] }]
    const credential = (name: string) => ({
      api: {
        origins: [origin],
        tenants: ['acme'],
        headers: { authorization: { from: `env:${name}`, prefix: 'Bearer ' } },
      },
    })
    const cwd = folder({
      'tokens.json': tokens,
      'credentials.json': credential('ONE'),
      'redrive.config.json': { signing: { hooks: { keys: [{ from: 'file:whsec' }], tenants: '*' } } },
      whsec: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    })
    const args = [
      '--tokens',
      'tokens.json',
      '--credentials',
      'credentials.json',
      '--allow-http',
      '--allow-private',
      '127.0.0.1/32',
      '--targets',
      `:${new URL(url).port}`,
    ]
    const service = await start(args, cwd, { ONE: 'the-first', TWO: 'the-second' })
    expect(service.lines.find(({ event }) => event === 'credentials')).toMatchObject({ names: ['api'] })
    expect(service.lines.find(({ event }) => event === 'signing')).toMatchObject({ names: ['hooks'] })
    const send = () =>
      postTo(
        `${service.url}/retry-tasks`,
        { targetUrl: url, json: 1, credential: 'api', signing: 'hooks' },
        { authorization: 'Bearer rd_a' },
      )
    expect((await send()).status).toBe(201)
    await eventually(() => seen.length).toBe(1)
    writeFileSync(join(cwd, 'credentials.json'), JSON.stringify(credential('TWO')))
    service.child.kill('SIGHUP')
    await service.logged('reloaded')
    expect((await send()).status).toBe(201)
    await eventually(() => seen.length).toBe(2)
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer the-first', 'Bearer the-second'])
    expect(seen[1]?.['webhook-signature']).toMatch(/^v1,/)
    expect(JSON.stringify(service.lines)).not.toMatch(/the-first|the-second/)
  })
})
