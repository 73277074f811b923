// Every command and snippet of docs/service-sending.md is run as it stands, against targets on this machine.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { eventually } from '../eventually.ts'
import { tokenFor } from './api/setup.ts'
import { pageOf } from './doc-blocks.ts'
import { type Seen, target } from './loopback.ts'
import { folder, type Program, start } from './program.ts'

const { block, blocks, ran } = pageOf('service-sending.md')

const TOKEN = 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'

/** A service with the settings of the page, which finds what they name on this machine. */
async function service(port: string, files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>) {
  const local = (text: string) => text.replaceAll(/https:\/\/(?:api|hooks)\.example\.com/g, `http://127.0.0.1:${port}`)
  const tokens = JSON.stringify([tokenFor(TOKEN, 'acme', 'tasks:write', 'tasks:read')])
  const cwd = folder({ 'tokens.json': tokens })
  mkdirSync(join(cwd, 'run', 'secrets'), { recursive: true })
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(cwd, name), local(text).replaceAll('/run/secrets', `${cwd}/run/secrets`))
  const command = local(block('sh', 'npx @redrive/service serve --tokens')).trim().split(' ').slice(3)
  const args = [...command, '--allow-http', '--allow-private', '127.0.0.1/32']
  const program = await start(args, cwd, env)
  const post = (code: string) =>
    JSON.parse(
      execFileSync('bash', ['-ec', local(code).replace('7733', portOf(program))], {
        env: { ...process.env, REDRIVE_TOKEN: TOKEN },
        encoding: 'utf8',
      }),
    )
  return { program, cwd, post }
}

const portOf = ({ url }: Program): string => new URL(url).port

test('the credential of the page reaches the target, and a task of the page is signed for it', async () => {
  const { seen: heard, port } = await target()
  const secrets = ['new', 'old'].map((word) => `whsec_${Buffer.alloc(32, word).toString('base64')}`)
  const files = {
    'credentials.json': block('json', '"acme-api"'),
    'redrive.config.json': JSON.stringify({ signing: JSON.parse(block('json', '"acme-webhooks"')) }),
    'run/secrets/webhooks-new': secrets[0] as string,
    'run/secrets/webhooks-old': secrets[1] as string,
  }
  const { program, post } = await service(port, files, { ACME_TOKEN: 'of-acme' })
  const order = block('sh', '"credential": "acme-api"')
  expect(post(order)).toMatchObject({ status: 'PENDING' })
  await eventually(() => heard.length).toBe(1)
  expect(heard[0]).toMatchObject({ authorization: 'Bearer of-acme', body: '{"sku":1}' })
  const event = order.replace('"credential": "acme-api"', '"signing": "acme-webhooks"')
  const { taskId } = post(event.replace('"sku": 1', '"type": "order.paid"'))
  await eventually(() => heard.length).toBe(2)
  const { body, path: _, ...headers } = heard[1] as Seen
  expect(headers['webhook-id']).toBe(taskId)
  expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2)
  for (const secret of secrets)
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ type: 'order.paid' })
  expect(JSON.stringify(program.lines)).not.toContain('of-acme')
})

test('an upload of the page is named by a task, and its body reaches the target', async () => {
  const { seen: heard, port } = await target()
  const args = block('sh', '--bodies file:bodies').trim().split(' ').slice(3)
  const cwd = folder({ 'film.mp4': 'x'.repeat(3_000_000) })
  const program = await start(args, cwd)
  const run = (code: string) => {
    const local = code.replace('7733', portOf(program)).replace('https://films.example.com', `http://127.0.0.1:${port}`)
    return JSON.parse(execFileSync('bash', ['-ec', local], { cwd, encoding: 'utf8' }))
  }
  const uploaded = run(block('sh', '@film.mp4'))
  const shown = JSON.parse(block('json', '"bodyRef"', '"sha256"'))
  expect(Object.keys(uploaded)).toEqual(Object.keys(shown))
  expect(shown.bodyRef).toMatch(/^[0-9a-f-]{36}\.3000000\.[\w-]{43}$/)
  const { taskId } = run(block('sh', 'REF=').replace(shown.bodyRef, uploaded.bodyRef))
  const task = await fetch(`${program.url}/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20' } })
  expect(await task.json()).toMatchObject({ status: 'SUCCEEDED', headers: {} })
  expect(heard).toMatchObject([
    { 'content-type': 'video/mp4', 'content-length': '3000000', body: 'x'.repeat(3_000_000) },
  ])
})

test('there is no block that no test has run', () => {
  // those of a bucket are run in tests/bodies
  const ofBucket = /"Rules"|"Statement"|s3:\/\/acme-invoices|^npm install @aws-sdk/
  expect(blocks.filter((each) => !ran.has(each) && !ofBucket.test(each.code)).map(({ code }) => code)).toEqual([])
})
