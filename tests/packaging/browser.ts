// One page of a throw-away project, opened in a real Chromium.
import type { Browser } from 'playwright-core'

export interface PageRun {
  readonly answer: unknown
  readonly errors: readonly string[]
  /** Paths of everything the page asked for, in this order. */
  readonly requests: readonly string[]
}

/** What of that was asked for before its first call went out, and all of it. */
export function aroundTheFirstCall({ requests }: PageRun): { before: readonly string[]; after: readonly string[] } {
  const first = requests.findIndex((path) => path.startsWith('/api/'))
  return { before: requests.slice(0, first), after: requests }
}

/** Opens a page that leaves its answer in `globalThis.answer`. */
export async function runPage(browser: Browser, url: string): Promise<PageRun> {
  const page = await browser.newPage()
  const errors: string[] = []
  const requests: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  await page.goto(url)
  try {
    await page.waitForFunction(() => 'answer' in globalThis || 'failure' in globalThis, undefined, { timeout: 30_000 })
    const answer = await page.evaluate(() => {
      const { answer, failure } = globalThis as { answer?: unknown; failure?: unknown }
      return answer ?? failure
    })
    return { answer, errors, requests }
  } catch (cause) {
    throw new Error(`the page at ${url} gave no answer: ${errors.join('; ') || 'and no error'}`, { cause })
  } finally {
    await page.close()
  }
}
