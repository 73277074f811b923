/**
 * The inspector over a real retry service that serves its page from the same origin: no CORS, tokens, limits, and operations with progress; and over
 * addresses that note which tokens they get.
 */

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../js/service/listeners.ts'
import { createService, type ServiceOptions } from '../../../js/service.ts'
import { memoryStore } from '../../../js/stores/memory.ts'
import { duringTests } from '../../during.ts'
import { eventually } from '../../js/eventually.ts'
import { onLoopback } from '../../loopback.ts'
import { here, launch } from '../chromium.ts'
import { labOrigin } from '../lab.ts'
import { CSP, openInspector } from './inspector-page.ts'

const lab = labOrigin()
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

test('a token is for the service that it was given for: another address does not get it', async () => {
  await using tab = await openInspector(browser, lab)
  const sent = (path: string): readonly unknown[] =>
    lab.received.filter(({ url }) => url.startsWith(path)).map(({ headers }) => headers.authorization)
  await tab.page.evaluate(() => stage.put({ token: 'rd_one' }, { src: '/api/one' }))
  await eventually(() => sent('/api/one').at(-1)).toBe('Bearer rd_one')
  await tab.page.evaluate(() => document.querySelector('redrive-inspector')?.setAttribute('src', '/api/two'))
  await eventually(() => sent('/api/two').length > 0).toBe(true)
  expect(new Set(sent('/api/two'))).toEqual(new Set([undefined]))
  await tab.page.evaluate(
    () =>
      void Object.assign(document.querySelector('redrive-inspector') as object, {
        src: '/api/three',
        token: 'rd_three',
      }),
  )
  await eventually(() => sent('/api/three').at(-1)).toBe('Bearer rd_three')
  expect(sent('/api/three')).not.toContain('Bearer rd_one')
  expect(new Set(sent('/api/two'))).toEqual(new Set([undefined]))
})

const A = { src: '/api/a', token: 'a' }
const OWN = { source: true, token: 's' }

/** Of two targets and their tokens, what is assigned first, and later in one go; `had`: which target got which token. */
test.each<[what: string, first: object, later: readonly object[], had: readonly string[]]>([
  ['the token first', { token: 'a' }, [{ src: '/api/a' }], ['/api/a a']],
  ['there and back', A, [{ src: '/api/b', token: 'b' }, { src: '/api/a' }], ['/api/a a']],
  ['no address between', A, [{ src: undefined }, { src: '/api/b' }], ['/api/a a']],
  ['a source after it', A, [OWN], ['/api/a a', 'source s']],
  ['a source before it', OWN, [{ source: undefined, src: '/api/b' }], ['source s']],
  ['a source in front of it', { ...OWN, src: '/api/a' }, [{ source: undefined }], ['source s']],
])('a token goes to what it was given for alone: %s', async (_, first, later, had) => {
  await using tab = await openInspector(browser, lab)
  const given = await tab.page.evaluateHandle((first) => {
    const given: string[] = []
    stage.source = stage.fakeSource()
    stage.source.authorize = (token) => void given.push(`source ${token}`)
    stage.put('source' in first ? { ...first, source: stage.source } : first)
    return given
  }, first)
  await tab.says(/disconnected|live|Nothing to look at/)
  const looks = async () => lab.received.length + (await tab.page.evaluate(() => stage.source.asked))
  const before = await looks()
  await tab.page.evaluate((later) => {
    for (const each of later)
      Object.assign(stage.element, 'source' in each && each.source ? { ...each, source: stage.source } : each)
  }, later)
  await eventually(looks).toBeGreaterThan(before + 3)
  const sent = lab.received.map(({ path, headers }) => [path.slice(0, 6), headers.authorization?.slice(7)])
  const got = [...sent.filter(([, token]) => token).map((each) => each.join(' ')), ...(await given.jsonValue())]
  expect([...new Set(got)]).toEqual(had)
})

test('one that does not answer keeps no other one waiting, and says nothing in its place', async () => {
  await using tab = await openInspector(browser, lab)
  lab.answer = ({ url }) => (url.startsWith('/api/hangs') ? 'never' : 401)
  await tab.page.evaluate(() => stage.put({}, { src: '/api/wants' }))
  await tab.says('token needed')
  await tab.page.evaluate(() => stage.element.setAttribute('src', '/api/hangs'))
  await tab.says(/api.hangs connecting/)
  const end = await tab.page.evaluateHandle(() => {
    let end = (_: string): void => {}
    const acted = new Promise<string>((resolve) => {
      end = resolve
    })
    stage.element.source = Object.assign(stage.fakeSource(), { act: () => acted })
    return end
  })
  await tab.says('live')
  await tab.page.getByRole('button', { name: 'Pause all' }).click()
  await tab.page.evaluate((end) => {
    stage.element.source = stage.fakeSource()
    end('paused before')
  }, end)
  await tab.says('live')
  expect(await tab.text()).not.toContain('paused before')
})
