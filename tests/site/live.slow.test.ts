// The live page: the same ten calls by fetch, ky and redrive, to a server that the visitor switches off and on.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { chromiumPath, quiet } from '../browser/chromium.ts'
import { duringTests } from '../during.ts'
import { foundByAxe } from './axe.ts'
import { type Scheme, visitor } from './visit.ts'

const visits = duringTests(visitor)

/** The figures under a lane: answered, failed, requests, in vain. */
const figures = async (page: Page, lane: string): Promise<number[]> =>
  (await page.locator(`[data-lane="${lane}"] dd`).allTextContents()).map(Number)

/** The requests of a lane by what its calls say of themselves. */
async function requestsInWords(page: Page, at: number): Promise<number> {
  const words = await page.locator('.live details ol').nth(at).locator('li').allTextContents()
  return words.reduce((sum, text) => sum + Number(/and (\d+) request/.exec(text)?.[1]), 0)
}

const ended = (page: Page, lane: string): Promise<unknown> =>
  page.waitForFunction(
    (name) =>
      document.querySelectorAll(`[data-lane="${name}"] :is([data-state="answered"], [data-state="failed"])`).length ===
      10,
    lane,
    { timeout: 45_000 },
  )

/** Until the outage is known: ky has given up, and redrive has tried again. */
async function duringOutage(page: Page): Promise<void> {
  await ended(page, 'ky')
  await page.waitForFunction(
    () => Number(document.querySelector('[data-lane="redrive"] [data-figure="requests"] dd')?.textContent) >= 15,
  )
}

test('with the server on, all calls are answered by their first request', async () => {
  await using context = await visits.fresh()
  const { page } = await visits.open('/live', context)
  await page.getByRole('button', { name: 'Make ten calls' }).click()
  for (const lane of ['fetch', 'ky', 'redrive']) {
    await ended(page, lane)
    expect(await figures(page, lane)).toEqual([10, 0, 10, 0])
  }
})

test.each([
  ['off', 'ArrowDown', 'ArrowUp', 'TypeError: Failed to fetch', 'NetworkError'],
  ['answers 503', 'ArrowUp', 'ArrowDown', '503 Service Unavailable', 'HTTPError'],
])(
  'a server that is switched to "%s" and back has answered the calls by redrive alone, and counted what the calls did',
  async (mode, away, back, gotByFetch, gotByKy) => {
    await using context = await visits.fresh()
    const { page, complaints, strangers } = await visits.open('/live', context)
    await page.getByRole('radio', { name: 'on', exact: true }).focus()
    await page.keyboard.press(away)
    expect(await page.getByRole('radio', { name: mode }).isChecked()).toBe(true)
    await duringOutage(page)
    expect(await page.locator('[data-lane="redrive"] [data-state="answered"]').count()).toBe(0)
    await page.keyboard.press(back)
    await ended(page, 'redrive')

    expect(await figures(page, 'fetch')).toEqual([0, 10, 10, 10])
    expect(await figures(page, 'ky')).toEqual([0, 10, 30, 30])
    const [answered, failed, requests = 0, inVain = 0] = await figures(page, 'redrive')
    expect([answered, failed, requests - inVain]).toEqual([10, 0, 10])
    const inWords = await Promise.all([0, 1, 2].map((at) => requestsInWords(page, at)))
    expect(inWords).toEqual([10, 30, requests])
    expect(await page.getAttribute('[data-lane="fetch"] li', 'title')).toContain(gotByFetch)
    expect(await page.getAttribute('[data-lane="ky"] li', 'title')).toContain(gotByKy)
    expect(await page.locator('.live [aria-live]').textContent()).toBe(
      'fetch: 0 answered, 10 failed. ky: 0 answered, 10 failed. redrive: 10 answered, 0 failed.',
    )
    expect(complaints).toEqual([])
    expect(strangers).toEqual([])
  },
)

test.each<Scheme>(['light', 'dark'])('an outage is accessible in %s, and moves nothing on a phone', async (scheme) => {
  await using context = await visits.fresh(scheme)
  const { page } = await visits.open('/live', context)
  await page.setViewportSize({ width: 360, height: 800 })
  const places = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.live-lane li, .live summary')].map(
        (each) => each.getBoundingClientRect().y + scrollY,
      ),
    )
  const before = await places()
  await page.getByRole('radio', { name: 'off' }).click()
  await duringOutage(page)
  expect(await places()).toEqual(before)
  await page.getByText('What each call got').click()
  expect(await foundByAxe(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
})

test('Lighthouse gives accessibility and best practices 100', { timeout: 240_000 }, async () => {
  const args = [
    fileURLToPath(new URL('../../site/node_modules/lighthouse/cli/index.js', import.meta.url)),
    `${visits.origin}/live`,
    '--quiet',
    '--output=json',
    '--only-categories=accessibility,best-practices',
    `--chrome-flags=${quiet.join(' ')}`,
  ]
  const env = { ...process.env, CHROME_PATH: chromiumPath() }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 64 * 1024 * 1024 })
  const { audits, categories } = JSON.parse(stdout) as {
    readonly audits: Readonly<Record<string, { readonly score: number | null; readonly title: string }>>
    readonly categories: Readonly<
      Record<
        string,
        { readonly score: number; readonly auditRefs: readonly { readonly id: string; readonly weight: number }[] }
      >
    >
  }
  const faults = Object.values(categories).flatMap(({ auditRefs }) =>
    auditRefs
      .filter(({ id, weight }) => weight > 0 && (audits[id]?.score ?? 1) < 1)
      .map(({ id }) => `${id}: ${audits[id]?.title}`),
  )
  expect(faults).toEqual([])
  const scores = Object.entries(categories).map(([name, { score }]) => [name, score * 100])
  expect(Object.fromEntries(scores)).toEqual({ accessibility: 100, 'best-practices': 100 })
})
