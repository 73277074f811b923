// Every command and snippet of docs/service-events.md is run as it stands, against a service, a target and a receiver on this machine.
import { execFileSync, spawn } from 'node:child_process'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { pageOf } from './doc-blocks.ts'
import { type Seen, target } from './loopback.ts'
import { folder, start } from './program.ts'

const { block, rest } = pageOf('service-events.md')

const TOKEN = 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'
const SECRET = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`

test('the task of the page tells its end as the page shows it, its receiver believes it, and a listener hears of it', async () => {
  const { port, seen } = await target(({ path }) => (path === '/hooks' ? 204 : 503))
  const told = () => seen.filter(({ path }) => path === '/hooks')
  const quick = { policyId: 'quick', strategy: 'fixed', initialDelayMs: 200, jitterType: 'NONE', maxAttempts: 8 }
  const cwd = folder({
    'redrive.config.json': {
      tokens: [tokenFor(TOKEN, 'acme', 'tasks:write', 'tasks:read')],
      signing: { 'my-hooks': { keys: [{ from: 'env:HOOKS_KEY' }], tenants: ['acme'] } },
      policies: [quick],
      defaultPolicy: 'quick',
    },
  })
  const program = await start(
    ['--targets', `http://127.0.0.1:${port}`, '--allow-http', '--allow-private', '127.0.0.1/32'],
    cwd,
    { HOOKS_KEY: SECRET },
  )
  const local = (code: string) =>
    code
      .replaceAll(/https:\/\/(?:api|me)\.example\.com/g, `http://127.0.0.1:${port}`)
      .replace('127.0.0.1:7733', new URL(program.url).host)
  const shell = { env: { ...process.env, REDRIVE_TOKEN: TOKEN } }

  const listener = spawn('bash', ['-ec', `exec ${local(block('sh', '/events?'))}`], shell)
  onTestFinished(() => void listener.kill('SIGKILL'))
  let heard = ''
  listener.stdout.on('data', (part) => {
    heard += part
  })
  await eventually(() => heard).toContain('retry: 2000')
  const receipt = JSON.parse(
    execFileSync('bash', ['-ec', local(block('sh', '"callback"'))], { ...shell, encoding: 'utf8' }),
  )
  await eventually(() => told().length).toBe(1)

  const shown = JSON.parse(block('json'))
  const [{ body, path: _, ...headers }] = told() as [Seen]
  const call = JSON.parse(body)
  expect(Object.keys(call)).toEqual(Object.keys(shown))
  expect(call.data).toEqual({
    ...shown.data,
    taskId: receipt.taskId,
    targetUrl: local(shown.data.targetUrl),
  })
  expect(call.type).toBe(shown.type)

  const received = new Webhook(SECRET)
  expect(received.verify(body, headers as Record<string, string>)).toEqual(call)
  expect(() => received.verify(`${body} `, headers as Record<string, string>)).toThrow()

  await eventually(() => heard).toContain('event: exhausted')
  const lines = block('text').split('\n')
  expect(heard.split('\n').slice(0, 2)).toEqual(lines.slice(0, 2))
  const [, last = ''] = /event: exhausted\ndata: (.*)/.exec(heard) ?? []
  const example = JSON.parse(lines.find((line) => line.startsWith('data: '))?.slice(6) ?? '')
  expect(JSON.parse(last)).toMatchObject({
    ...example,
    at: expect.any(Number),
    task: { ...example.task, taskId: receipt.taskId },
  })
  expect(heard.match(/event: retry/g)).toHaveLength(7)
})

test('there is no block that no test has run', () => {
  expect(rest()).toEqual([])
})
