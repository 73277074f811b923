/** The page of `redrive serve --ui`, from the built package: that it works under its own headers, and that pages of others get no hold of it. */

import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { duringTests } from '../../during.ts'
import { folder, json, type Program, post, start } from '../../js/service/program.ts'
import { onLoopback } from '../../loopback.ts'
import { here, launch, quiet } from '../chromium.ts'
import { engines } from '../engines.ts'

const CLI = here('../../pkg-service/cli.js')
const TOKEN = 'rd_cccccccccccccccccccccccccc'
const TARGET = 'https://api.example.com/orders'
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }

/** The service with one token, which may do everything in its tenant. */
function withToken(...args: string[]): Promise<Program> {
  const sha256 = createHash('sha256').update(TOKEN).digest('hex')
  const tokens = [{ sha256, tenant: 'acme', name: 'operator', scopes: ['admin'] }]
  return start(['--ui', '--tokens', 'tokens.json', ...args], folder({ 'tokens.json': tokens }), {}, CLI)
}

/** Hands over a task that waits for an hour. */
async function waiting({ url }: Program, path = '/1'): Promise<string> {
  const task = { targetUrl: `${TARGET}${path}`, json: { sku: 1 }, delayMs: 3_600_000 }
  return String((await json(await post(`${url}/retry-tasks`, task, AUTHORIZED))).taskId)
}

/** What a page complains of: errors, and what its policy has refused. */
async function complaintsOf(page: Page): Promise<() => Promise<readonly string[]>> {
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await page.addInitScript(() => {
    const refused: string[] = []
    Object.assign(globalThis, { refused })
    addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
      refused.push(`${effectiveDirective} ${blockedURI}`)
    })
  })
  return async () => [
    ...errors,
    ...(await page.evaluate(() => (globalThis as unknown as { refused: readonly string[] }).refused)),
  ]
}

const browser = duringTests(() => launch({ args: [...quiet, '--host-resolver-rules=MAP evil.test 127.0.0.1'] }))

describe('the page', () => {
  test('loads by its short address under its own policy, without a refusal and without an error', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await using page = await browser.newPage()
    const complaints = await complaintsOf(page)
    const responses: string[] = []
    page.on('response', (response) => responses.push(`${response.status()} ${new URL(response.url()).pathname}`))
    await page.goto(`${service.url}/ui`)
    expect(page.url()).toBe(`${service.url}/ui/`)
    expect(responses).toEqual(expect.arrayContaining(['308 /ui', '200 /ui/', '200 /ui/page.css', '200 /ui/ui.js']))
    expect(await page.evaluate(() => getComputedStyle(document.body).marginTop)).toBe('0px')
    expect(await complaints()).toEqual([])
  })

  test('runs no script that got into it, and sends nothing elsewhere', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await using page = await browser.newPage()
    const complaints = await complaintsOf(page)
    await page.goto(`${service.url}/ui/`)
    const hasRun = await page.evaluate(async () => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.hasRun = true'
      document.body.append(script)
      document.body.insertAdjacentHTML(
        'beforeend',
        '<img src="x:" onerror="globalThis.hasRun = true"><base href="https://evil.test/">',
      )
      await fetch('http://evil.test/').catch(() => undefined)
      return 'hasRun' in globalThis
    })
    expect(hasRun).toBe(false)
    const refused = (await complaints()).join('\n')
    for (const directive of ['script-src-elem inline', 'script-src-attr inline', 'connect-src http://evil.test']) {
      expect(refused).toContain(directive)
    }
  })

  test('shows the tasks at once in dev mode, with nothing to complain of', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await waiting(service, '/shown-in-the-page')
    await using page = await browser.newPage()
    const complaints = await complaintsOf(page)
    await page.goto(`${service.url}/ui`)
    await page.getByRole('tab', { name: /^Tasks/ }).click()
    await page.getByText('shown-in-the-page').first().waitFor()
    expect(await page.getByLabel(/token/i).count()).toBe(0)
    expect(await complaints()).toEqual([])
  })

  test('asks for the token, keeps it for as long as it is open, and shows the tasks', async () => {
    const service = await withToken('--targets', 'https://api.example.com')
    await waiting(service, '/shown-in-the-page')
    await using page = await browser.newPage()
    await page.goto(`${service.url}/ui`)
    const token = page.getByLabel(/token/i)
    await token.waitFor()
    expect(await page.getByText('shown-in-the-page').count()).toBe(0)
    await token.fill(TOKEN)
    await token.press('Enter')
    await page.getByRole('tab', { name: /^Tasks/ }).click()
    await page.getByText('shown-in-the-page').first().waitFor()
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]),
    )
    expect(kept).not.toContain(TOKEN)
    await page.reload()
    await token.waitFor()
    expect(await page.getByText('shown-in-the-page').count()).toBe(0)
  })
})

test.each(engines)('in %s calls of the page count as its own: it reads, and it writes', async (_, open) => {
  const service = await withToken('--targets', 'https://api.example.com')
  const taskId = await waiting(service)
  const engine = await open()
  onTestFinished(async () => void (await engine.close()))
  const tab = await engine.open(`${service.url}/ui/`)
  const call = (method: string, path: string, body?: object) => {
    const headers = { ...AUTHORIZED, ...(body && { 'content-type': 'application/json' }) }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }), credentials: 'omit' }
    return tab.run<number>(`fetch('..${path}', ${JSON.stringify(init)}).then(({ status }) => status)`)
  }
  expect(await call('GET', `/retry-tasks/${taskId}`)).toBe(200)
  expect(await call('POST', '/pauses', {})).toBe(201)
  expect(await call('DELETE', `/retry-tasks/${taskId}`)).toBe(200)
  expect(await tab.run<number>(`fetch('../flush', { method: 'POST' }).then(({ status }) => status)`)).toBe(401)
})

describe('a page of another site', () => {
  /** A page of another origin, in which nothing is forbidden. */
  async function stranger(body = ''): Promise<string> {
    const origin = await onLoopback((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>stranger</title>${body}`)
    })
    return `${origin}/`
  }

  test('cannot put it in a frame, load its files, read its answers or write by it, even in dev mode', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await using page = await browser.newPage()
    await page.goto(await stranger(`<iframe src="${service.url}/ui/"></iframe>`))
    expect(page.frames().map((frame) => frame.url())).toContain('chrome-error://chromewebdata/')
    const outcomes = await page.evaluate(async (url) => {
      const loads = (name: 'script' | 'img', attributes: object) =>
        new Promise((resolve) => {
          const element = Object.assign(document.createElement(name), attributes)
          element.onload = () => resolve('loaded')
          element.onerror = () => resolve('refused')
          document.body.append(element)
        })
      const asks = (path: string, init: RequestInit = {}) =>
        fetch(`${url}${path}`, init).then(
          ({ type }) => type,
          () => 'refused',
        )
      return {
        script: await loads('script', { src: `${url}/ui/ui.js` }),
        module: await loads('script', { type: 'module', src: `${url}/ui/ui.js` }),
        icon: await loads('img', { src: `${url}/ui/icon.svg` }),
        page: await asks('/ui/'),
        blind: await asks('/ui/', { mode: 'no-cors' }),
        stats: await asks('/stats'),
        flush: await asks('/flush', { method: 'POST' }),
      }
    }, service.url)
    expect([...new Set(Object.values(outcomes))]).toEqual(['refused'])
    const blind = await page.evaluate(
      (url) =>
        fetch(`${url}/pauses`, { method: 'POST', mode: 'no-cors', body: '{}' }).then(
          ({ type }) => type,
          () => 'refused',
        ),
      service.url,
    )
    expect(['opaque', 'refused']).toContain(blind)
    // whatever that page was told: nothing was done
    expect(await json(await fetch(`${service.url}/pauses`))).toEqual({ pauses: [] })
  })

  test('that opens it keeps no hold of it', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await using page = await browser.newPage()
    await page.goto(await stranger())
    const popup = page.waitForEvent('popup')
    await page.evaluate((url) => void Object.assign(globalThis, { opened: open(`${url}/ui/`) }), service.url)
    const opened = await popup
    await opened.waitForLoadState()
    expect(await opened.evaluate(() => opener)).toBe(null)
    expect(await page.evaluate(() => (globalThis as unknown as { opened: Window }).opened.closed)).toBe(true)
    await opened.close()
  })

  test('whose name was made to lead here gets nothing', async () => {
    const service = await start(['--ui'], folder(), {}, CLI)
    await using page = await browser.newPage()
    const answer = await page.goto(`http://evil.test:${new URL(service.url).port}/ui/`)
    expect([answer?.status(), await answer?.text()]).toEqual([421, expect.stringContaining('wrong-host')])
  })
})
