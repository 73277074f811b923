/** The inspector over a real retry service that serves its page from the same origin: no CORS, tokens, limits, and operations with progress. */

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'
import { createService, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { duringTests } from '../../during.ts'
import { onLoopback } from '../../loopback.ts'
import { here, launch } from '../chromium.ts'
import { CSP, openInspector } from './inspector-page.ts'

const browser = duringTests(() => launch())

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
}

/** A file of the page, with its policy, as a service that has a page serves it. */
async function file(path: string): Promise<Response> {
  const own = path.replace(/^\/pages/, '/tests/browser/pages').replace(/^\/ui/, '/pkg-service/ui')
  const bytes = await readFile(join(here('../..'), own)).catch(() => undefined)
  if (!bytes) return new Response(null, { status: 404 })
  return new Response(new Uint8Array(bytes), {
    headers: { 'content-type': TYPES[extname(path)] ?? 'text/plain', 'content-security-policy': CSP },
  })
}

async function setup(options: Partial<ServiceOptions> = {}) {
  const target = await onLoopback((_, response) => response.writeHead(503).end())
  const service = createService({
    store: memoryStore({ everyone: true }),
    allowLoopback: true,
    ui: true, // so that a page of its own origin may write: no other origin is allowed
    uiFolder: here('../../pkg-service/ui'),
    ...options,
  })
  await service.ready
  const asked: string[] = []
  const listener = await listen(
    (request, peer) => {
      const { pathname } = new URL(request.url)
      if (/^\/(pkg|pages|ui)\/./.test(pathname)) return file(pathname)
      asked.push(`${request.method} ${pathname}`)
      return service.fetch(request, peer)
    },
    { host: '127.0.0.1', port: 0, tls: undefined },
  )
  const url = `http://127.0.0.1:${listener.port}`
  onTestFinished(async () => {
    listener.cut()
    await listener.close()
    await service.close({ drainMs: 0 })
  })
  const targetUrl = `${target}/orders`
  const post = async (body: object, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await service.fetch(
      new Request('http://localhost/retry-tasks', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ targetUrl, json: { sku: 1 }, ...body }),
      }),
    )
    expect(answer.status).toBe(201)
    return ((await answer.json()) as { taskId: string }).taskId
  }
  const dead = async (headers: Record<string, string> = {}): Promise<string> => {
    const taskId = await post({ policy: { maxAttempts: 1 } }, headers)
    await service.fetch(
      new Request(`http://localhost/retry-tasks/${taskId}`, { headers: { prefer: 'wait=20', ...headers } }),
    )
    return taskId
  }
  const stop = async (): Promise<void> => {
    const closed = listener.close()
    listener.cut()
    await closed
  }
  return { service, url, asked, post, dead, stop }
}

test('`src` of the own origin: the lanes, a task in words, and each action', async () => {
  const { url, post, dead, service } = await setup()
  for (let n = 0; n < 3; n++) await dead()
  await post({ delayMs: 3_600_000, tags: { invoice: '2041' } })
  await using tab = await openInspector(browser, { url })
  await tab.page.evaluate(() => void stage.put({}, { src: '' }))
  await tab.says(`${url} live Waiting 1`)
  await tab.says('Dead letters 3')

  await tab.page.getByRole('button', { name: 'Pause all' }).click()
  await tab.says('paused')
  await tab.page.getByRole('button', { name: 'Resume all' }).click()
  await tab.says('resumed')
  await tab.page.getByRole('button', { name: 'Make all due' }).click()
  await tab.says(/\d tasks? made due/)

  await tab.page.getByRole('tab', { name: 'Tasks' }).click()
  await tab.page.getByRole('searchbox').fill('invoice=2041')
  await tab.says('1 fit, among 4 tasks')
  await tab.page.getByRole('searchbox').fill('')
  const last = await post({ delayMs: 3_600_000 })
  await tab.says('5 tasks, newest first')
  await tab.page.getByRole('row').nth(1).click()
  const explained = await service.fetch(new Request(`http://localhost/retry-tasks/${last}/explain`))
  const { decisions } = (await explained.json()) as { decisions: { text: string }[] }
  for (const { text } of decisions) await tab.says(text)
  await tab.page.getByRole('button', { name: 'Cancel', exact: true }).click()
  await tab.says('cancelled')
  await tab.page.keyboard.press('Escape')

  await tab.page.getByRole('button', { name: 'dead letters 3' }).click()
  await tab.page.getByRole('button', { name: 'Redrive all…' }).click()
  await tab.page.getByLabel('a second').fill('0.05')
  await tab.page.getByRole('button', { name: 'Redrive 3' }).click()
  await tab.says('1 of 3 redriven')
  await tab.page.getByRole('button', { name: 'Stop', exact: true }).click()
  await tab.says('1 task redriven')

  await tab.page.getByRole('button', { name: 'Delete all…' }).click()
  const dialog = tab.page.getByRole('dialog')
  const count = /Delete (\d+) dead/.exec(await dialog.innerText())?.[1] ?? ''
  await dead() // one more than was asked about
  await dialog.getByLabel(/^Type/).fill(count)
  await tab.page.keyboard.press('Enter')
  await tab.says(/were to be deleted; nothing was/)
  await tab.page.getByRole('tab', { name: 'Events' }).click()
  await tab.says('new dead letter')
})

const TOKEN = 'rd_aaaaaaaaaaaaaaaaaaaaaaaaaa'

test('a token is asked for, and what it may not do is not to be pressed', async () => {
  const sha256 = createHash('sha256').update(TOKEN).digest('hex')
  const { url, asked, dead } = await setup({
    tokens: [{ sha256, tenant: 'acme', name: 'reader', scopes: ['tasks:read', 'tasks:write'] }],
  })
  await dead({ authorization: `Bearer ${TOKEN}` })
  await using tab = await openInspector(browser, { url })
  await tab.page.evaluate(() => void stage.put({}, { src: '/' }))
  await tab.says('the request has no token')
  await tab.page.getByLabel('Token').fill('rd_wrong')
  await tab.page.keyboard.press('Enter')
  await tab.says('the token is unknown, or it has expired')
  await tab.page.getByLabel('Token').fill(TOKEN)
  await tab.page.keyboard.press('Enter')
  await tab.says('live')
  await tab.says("Not allowed: this needs the scope 'admin', which the token does not have")
  await tab.says('not shown to this token')
  await tab.page.getByRole('button', { name: 'Pause all' }).click({ force: true })
  await tab.page.getByRole('tab', { name: 'Tasks' }).click()
  await tab.page.getByRole('button', { name: /^dead letters/ }).click()
  await tab.page.getByRole('row').nth(1).click()
  await tab.page.getByRole('button', { name: 'Redrive', exact: true }).click()
  await tab.says('redriven')
  expect(asked.filter((each) => each.startsWith('POST'))).toEqual([
    expect.stringMatching(/^POST \/dead-letters\/.*\/redrive$/),
  ])
  expect(asked.filter((each) => each === 'GET /pauses')).toHaveLength(3) // without a token, with a wrong one, and refused once for all
})

test('one that limits how often it is asked is not asked more often', async () => {
  const { url, asked } = await setup({ rate: { perSecond: 1, burst: 2 } })
  await using tab = await openInspector(browser, { url })
  await tab.page.evaluate(() => void stage.put({}, { src: '/' }))
  await tab.says('times a second')
  await tab.says('live') // after the wait that it asked for
  expect(asked.length).toBeLessThan(20)
})
