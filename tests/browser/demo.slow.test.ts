/** The demo as people meet it: a command in a terminal, and the page that `--serve` gives. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { here, launch } from './chromium.ts'

const program = here('../../examples/demo/run.mjs')

function start(
  variables: Readonly<Record<string, string>>,
  ...args: readonly string[]
): { child: ChildProcess; output: () => string } {
  const env = { ...process.env, ...variables }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
  return { child, output: () => text }
}

async function finish(...args: string[]): Promise<{ code: number; output: string }> {
  const { child, output } = start({}, ...args)
  // one that takes too long
  onTestFinished(() => void child.kill())
  const [code] = await once(child, 'close')
  return { code: code as number, output: output() }
}

describe('in a terminal', () => {
  test('plain lines without a TTY, the server’s table, and code 0', async () => {
    const { code, output } = await finish('--calls', '30', '--seed', '22')
    expect(output).toContain('30 orders, 30 effects')
    expect(output).toContain('npm run demo -- --inspect')
    expect(output).not.toContain('\x1b')
    expect(code).toBe(0)
  })

  test('S1 with --kill the queue dies half-way: the next process finds what is left, and every order takes effect once', async () => {
    const { code, output } = await finish('--kill', '--calls', '30', '--seed', '22')
    const [, done] = /✗ killed: SIGKILL, with (\d+) of 30 orders done/.exec(output) ?? []
    const [, found] = /✓ started again \d+\.\d s later: (\d+) tasks found/.exec(output) ?? []
    expect(Number(done)).toBeLessThan(30)
    // one that ended unheard is among neither
    expect(Number(found)).toBeLessThanOrEqual(30 - Number(done))
    expect(Number(found)).toBeGreaterThan(0)
    expect(output).toContain('30 orders, 30 effects')
    expect(code).toBe(0)
  })

  test('S1 with --redis two of four processes die, and then Redis: nothing that it accepted is lost, and every order takes effect once', {
    timeout: 120_000,
  }, async () => {
    const { code, output } = await finish('--redis', '--calls', '30', '--seed', '22')
    expect(output).toMatch(/✗ killed: SIGKILL to two of the four processes, with \d+ of 30 orders done/)
    const [, accepted] = /✗ killed: SIGKILL to Redis, with \d+ of 30 orders done and (\d+) accepted/.exec(output) ?? []
    expect(Number(accepted)).toBeGreaterThan(0)
    expect(output).toContain('30 orders, 30 effects')
    const end = output.slice(output.indexOf('30 orders, 30 effects')).replace(/\s+/g, ' ')
    expect(end).toContain(`had all ${accepted} orders that it had accepted before.`)
    expect(code).toBe(0)
  })

  test('S1 with --service one of two workers of a retry service dies: the other one does its work, and every order takes effect once', {
    timeout: 120_000,
  }, async () => {
    const { code, output } = await finish('--service', '--calls', '30', '--seed', '22')
    expect(output).toMatch(
      /curl -s http:\S+\/retry-tasks -H 'content-type: application\/json' -d '\{.*"idempotencyKey":"order-001"/,
    )
    const [, done] = /✗ killed: SIGKILL to one of the two workers, with (\d+) of 30 orders done/.exec(output) ?? []
    expect(Number(done)).toBeLessThan(30)
    expect(output).toContain('30 orders, 30 effects')
    const [, more] = /requests more for the kill +(\d+)/.exec(output) ?? []
    const end = output.slice(output.indexOf('30 orders, 30 effects')).replace(/\s+/g, ' ')
    expect(end).toContain(more === '0' ? 'nothing in flight' : `What it had in flight, ${more} order`)
    expect(end).toContain('npx @redrive/service task list')
    expect(code).toBe(0)
  })

  test('without a redis-server --redis says where one is to be had', async () => {
    const { child, output } = start({ REDIS_PATH: '/nowhere/redis-server' }, '--redis')
    const [code] = await once(child, 'close')
    expect(output()).toContain('REDIS_PATH names /nowhere/redis-server, which is not there')
    expect(output()).toContain('apt-get install redis-server')
    expect(code).toBe(1)
  })

  test('code 1 and the reason, where the server was too kind for the run to prove anything', async () => {
    const { code, output } = await finish('--calls', '1', '--seed', '1')
    expect(output).toContain('injected failures: expected at least')
    expect(code).toBe(1)
  })

  test.each([
    [80, 24, 60],
    [40, 24, 60],
    [40, 24, 500],
    [200, 50, 500],
  ])('a picture for %i columns and %i rows of %i calls fits them', async (columns, rows, calls) => {
    const part = (file: string) => import(here(`../../examples/demo/${file}`))
    const [{ Board }, { intentNames }, { frame, painter }] = await Promise.all([
      part('board.js'),
      part('calls.js'),
      part('terminal.mjs'),
    ])
    const board = new Board(intentNames(calls))
    for (const call of board.calls) board.sent(call.intent)
    const killed = 'killed, and started again with a sentence that is longer than the terminal is wide: 36 tasks found'
    const curl = `curl -s http://127.0.0.1:7733/retry-tasks -d '{"targetUrl":"${'x'.repeat(150)}"}'`
    for (const notes of [[], [{ text: killed, style: 'red' }], [{ text: curl, style: 'dim' }]]) {
      const lines: string[] = frame(board, { columns, rows, elapsedMs: 1_000, notes, paint: painter(false) })
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns)
      expect(lines.length).toBeLessThan(rows)
    }
  })

  test.each(['--serve', '--inspect'])('a page has no process to kill, and that is said: %s', async (page) => {
    expect(await finish('--kill', page)).toMatchObject({ code: 1, output: expect.stringContaining(page) })
  })

  test('a wrong option is named, with what was expected', async () => {
    expect(await finish('--calls', 'many')).toMatchObject({
      code: 1,
      output: expect.stringContaining("--calls: expected a whole number from 1 to 500, got 'many'"),
    })
  })
})

describe('in the inspector', () => {
  interface Inspected {
    readonly queue: import('../../js/index.ts').RetryQueue
  }
  /** A number of the queue that the element has been given. */
  const statOf = (page: Page, name: 'depth' | 'deadLetters' | 'succeeded') =>
    page.evaluate(
      (key) => (document.querySelector('redrive-inspector') as unknown as Inspected).queue.stats()[key],
      name,
    )

  test('--inspect opens a page whose queue has tasks that wait, succeed and are given up, and goes through an outage', async () => {
    const opened = join(mkdtempSync(join(tmpdir(), 'redrive-demo-')), 'opened')
    onTestFinished(() => rmSync(dirname(opened), { recursive: true }))
    const opener = join(dirname(opened), 'browser')
    writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > '${opened}'\n`, { mode: 0o755 })
    const { child, output } = start({ BROWSER: opener }, '--inspect', '--calls', '30')
    onTestFinished(() => void child.kill())
    await expect.poll(output, { timeout: 20_000 }).toContain('It opens in your browser. Ctrl-C ends it.')
    const [url = ''] = /http:\S+/.exec(output()) ?? []
    await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe(url)
    await using browser = await launch()
    await using page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 360, height: 740 } })
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(url)
    for (const name of ['depth', 'succeeded', 'deadLetters'] as const) {
      await expect.poll(() => statOf(page, name), { timeout: 30_000 }).toBeGreaterThan(0)
    }
    await page.click('#server')
    await page.getByText('The server is down').waitFor()
    const answer = await page.evaluate(() => fetch('/api/orders?intent=asked').then(({ status }) => status))
    expect(answer).toBe(503)
    await page.click('#server')
    await page.getByText('The server is there again').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(errors).toEqual([])
  })

  test.each([
    ['there is no display', { platform: 'linux', env: {} }, /There is no display here/],
    ['nobody wants it opened', { platform: 'darwin', env: { BROWSER: 'none' } }, /^Open it in a browser\.$/],
    [
      'the browser is not there',
      { env: { BROWSER: '/nowhere/browser' } },
      /could not be opened \(.*ENOENT.*\): open it/,
    ],
  ])('where %s, that is said', async (_, host, said) => {
    const { openInBrowser } = await import(here('../../examples/demo/opening.mjs'))
    expect(await openInBrowser('http://127.0.0.1:1/', host)).toMatch(said)
  })
})

describe('as a page', () => {
  let browser: Browser
  let served: ChildProcess
  let url: string

  beforeAll(async () => {
    browser = await launch()
    const { child, output } = start({}, '--serve')
    served = child
    while (!/http:\S+/.test(output())) await once(child.stdout as NodeJS.ReadableStream, 'data')
    url = /http:\S+/.exec(output())?.[0] ?? ''
  })
  afterAll(async () => {
    served?.kill()
    await browser?.close()
  })

  const screens = [
    { calls: 60, colorScheme: 'light', viewport: { width: 1280, height: 860 } },
    { calls: 30, colorScheme: 'dark', viewport: { width: 360, height: 740 } },
  ] as const

  test.each(screens)(
    '$colorScheme: from empty to finished, and nothing wider than the screen',
    async ({ calls, ...screen }) => {
      await using page = await browser.newPage(screen)
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(error.message))
      const fits = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
      await page.goto(url.replace(/calls=\d+/, `calls=${calls}`))
      expect(await fits()).toBe(true)
      await page.click('#run')
      await page.waitForSelector('[data-count="waiting"].some')
      await page.waitForFunction(() => document.querySelectorAll('.pile [data-brick="done"]').length >= 15)
      await page.waitForSelector('#status[data-state="held"], #status[data-state="broken"]')
      expect(await page.textContent('#status')).toMatch(
        new RegExp(`^${calls} orders, ${calls} effects, \\d+ failures on the way\\.$`),
      )
      expect(await page.getAttribute('#skyline', 'aria-label')).toContain(`${calls} done`)
      expect(await page.locator('#checks .broken').count()).toBe(0)
      expect(errors).toEqual([])
      expect(await fits()).toBe(true)
    },
  )

  test('without its server it says so, and can be started again', async () => {
    await using page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 1280, height: 860 } })
    await page.goto(url)
    await page.route('**/reset', (route) => route.abort())
    await page.click('#run')
    await page.waitForSelector('#status[data-state="broken"]')
    expect(await page.textContent('#status')).toContain('Is its server still running?')
    expect(await page.isEnabled('#run')).toBe(true)
  })
})
