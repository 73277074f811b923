// One page of a throw-away project, opened in a real Chromium.
import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { esbuilt } from './builds.ts'
import type { Consumer } from './consumer.ts'
import { type FlakyServer, flakyServer } from './flaky-server.ts'

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

/** A project's `dist/`, with its program bundled, on a server of its own; both are gone when the test is over. */
export async function served(project: Consumer, options: BuildOptions = {}): Promise<FlakyServer> {
  onTestFinished(() => project[Symbol.dispose]())
  await esbuilt(project, options)
  const site = await flakyServer(join(project.folder, 'dist'))
  onTestFinished(() => site[Symbol.asyncDispose]())
  return site
}

export interface Heard {
  readonly page: Page
  /** What the page and the package have written to the console, and what was thrown. */
  readonly said: readonly string[]
}

/** Its page, in a tab that is closed when the test is over. */
export async function heard(browser: Browser, { origin }: FlakyServer): Promise<Heard> {
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  const said: string[] = []
  page.on('console', (message) => {
    // a request that fails is told of by the browser itself
    if (!message.text().startsWith('Failed to load resource')) said.push(message.text())
  })
  page.on('pageerror', (error) => said.push(String(error)))
  await page.goto(origin)
  return { page, said }
}
