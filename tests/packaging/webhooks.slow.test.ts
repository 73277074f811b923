// The recipe of signed webhooks, as it is printed, and a sender with a signature of its own form. A program of its own receives what they
// send, and verifies it with the library of Standard Webhooks.
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { started } from './children.ts'
import { consumer, link, plainEnv } from './consumer.ts'
import { snippet, toServer } from './snippets.ts'
import { judge, ownCompiler } from './typed.ts'

const KEY = Buffer.from('a secret that both sides know')
const env = { WEBHOOK_SECRET: `whsec_${KEY.toString('base64')}` }

/** Refuses the first request, takes all others, and prints a line about each. */
const receiver = `
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
let requests = 0
const server = createServer(async (request, response) => {
  const body = await text(request)
  const { url, headers } = request
  let verified
  try {
    verified = webhook.verify(body, headers)
  } catch (error) {
    verified = error.message
  }
  console.log(JSON.stringify({ url, headers, body, verified }))
  requests += 1
  response.writeHead(requests === 1 ? 503 : 200).end()
})
server.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))
`

interface Received {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly verified: unknown
}

const recipe = () => snippet('standardwebhooks')

const ownSignature = (): string => `
import { createHmac } from 'node:crypto'
import { RetryQueue } from 'redrive'

const secret = process.env.WEBHOOK_SECRET ?? ''
const queue = new RetryQueue({
  sign({ body }) {
    const timestamp = String(Date.now())
    const signature = createHmac('sha256', secret).update(timestamp + '.').update(body).digest('hex')
    return { 'x-timestamp': timestamp, 'x-signature': signature }
  },
})
const response = await queue.fetch('https://api.example.com/orders', { method: 'POST', body: 'A-1' })
console.log(response.status)
`

/** Runs a snippet to its end. */
async function sent(code: string): Promise<{ readonly printed: string; readonly received: readonly Received[] }> {
  using project = consumer({ 'receiver.mjs': receiver })
  link(project, 'standardwebhooks')
  await using server = await started(project, 'http://', ['receiver.mjs'], env)
  const [origin = '', ...none] = server.output().trim().split('\n')
  expect(none).toEqual([])
  writeFileSync(join(project.folder, 'sender.mjs'), toServer(code, origin))
  const options = { cwd: project.folder, env: { ...plainEnv(), ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, ['sender.mjs'], options)
  const lines = server.output().trim().split('\n').slice(1)
  return { printed: stdout.trim(), received: lines.map((line) => JSON.parse(line) as Received) }
}

test('each attempt of a webhook is signed anew, under one id, and its receiver can verify it', async () => {
  const { printed, received } = await sent(recipe())
  expect(printed).toBe('strict SUCCEEDED')
  expect(received).toHaveLength(2)
  const event = { type: 'order.paid', data: { order: 'A-1' } }
  for (const { verified } of received) expect(verified).toEqual(event)
  const [first, second] = received.map(({ headers }) => headers)
  expect(first?.['webhook-id']).toBe('evt_2041:ep_17')
  expect(second?.['webhook-id']).toBe(first?.['webhook-id'])
  expect(second?.['content-type']).toBe('application/json')
  expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined])
})

test('a signature of one’s own covers the bytes that are sent', async () => {
  const { printed, received } = await sent(ownSignature())
  expect(printed).toBe('200')
  expect(received).toHaveLength(2)
  for (const { headers, body } of received) {
    const signature = createHmac('sha256', env.WEBHOOK_SECRET).update(`${headers['x-timestamp']}.${body}`).digest('hex')
    expect(headers['x-signature']).toBe(signature)
  }
})

test.each([
  ['the recipe', recipe],
  ['a signature of one’s own', ownSignature],
])('%s is strict TypeScript', async (_, code) => {
  const library = { lib: ['es2022'], types: ['node'], program: code(), packages: ['standardwebhooks'] }
  await judge(ownCompiler, library, 'nodenext')
})
