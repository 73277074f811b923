/** A page with an inspector in a real Chromium, under the policy that a careful site has: every test ends by asking what it has reported. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { InspectorAct, InspectorEvent, InspectorSource, InspectorTask } from '../../../js/ui.ts'
import type { Origin } from '../origins.ts'

/** Nothing inline, nothing from elsewhere. */
export const CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:"

export interface FakeSource extends InspectorSource {
  readonly all: InspectorTask[]
  can: InspectorSource['can']
  /** Every look rejects with this. */
  fail: Error | undefined
  /** Every action does. */
  failAct: Error | undefined
  /** No look ends. */
  hang: boolean
  /** What was done, without its functions. */
  readonly done: InspectorAct[]
  readonly asked: number
  /** Between two parts of a redrive. */
  pace?: number
  authorize?: (token: string) => void
}

/** What pages/inspector.js exposes. */
export interface InspectorPage {
  readonly put: (properties?: object, attributes?: Record<string, string>) => HTMLElement
  readonly text: (root?: Element) => string
  readonly fakeSource: (options?: object) => FakeSource
  readonly fakeTask: (n: number, now: number) => InspectorTask
  readonly ID: (n: number) => string
  readonly violations: readonly string[]
  readonly errors: readonly string[]
  readonly RetryQueue: typeof import('../../../js/index.ts').RetryQueue
  readonly mountInspector: typeof import('../../../js/ui.ts').mountInspector
  readonly InspectorError: typeof import('../../../js/ui-sources.ts').InspectorError
  readonly queueSource: typeof import('../../../js/ui-sources.ts').queueSource
  element: HTMLElement & { source?: InspectorSource; token?: string; readonly?: boolean }
  source: FakeSource
  emit: (event: InspectorEvent) => void
}
declare global {
  var stage: InspectorPage
}

export interface InspectorTab extends AsyncDisposable {
  readonly page: Page
  /** Waits until the inspector says this. */
  says(words: string | RegExp): Promise<void>
  text(): Promise<string>
  /** An inspector over a source of the page's own, which is under `stage.source`. */
  show(options?: object, properties?: object): Promise<void>
}

/** A page of its own; once it is disposed of it has broken no policy and thrown nothing. */
export async function openInspector(
  browser: Browser,
  origin: Pick<Origin, 'url'>,
  options: BrowserContextOptions = {},
): Promise<InspectorTab> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options })
  const page = await context.newPage()
  await page.goto(`${origin.url}/pages/inspector.html?csp=${encodeURIComponent(CSP)}`)
  await page.waitForFunction(() => globalThis.stage !== undefined)
  const text = (): Promise<string> => page.evaluate(() => stage.text())
  return {
    page,
    text,
    says: (words) => {
      const shows = expect.poll(text, { timeout: 15_000 })
      return typeof words === 'string' ? shows.toContain(words) : shows.toMatch(words)
    },
    show: (options = {}, properties = {}) =>
      page.evaluate(
        ([options, properties]) => {
          stage.source = stage.fakeSource(options)
          stage.put({ source: stage.source, ...properties })
        },
        [options, properties] as const,
      ),
    async [Symbol.asyncDispose]() {
      const reported = await page.evaluate(() => [...stage.violations, ...stage.errors])
      await context.close()
      expect(reported).toEqual([])
    },
  }
}

/** One that shows that at once. */
export async function openFake(
  browser: Browser,
  origin: Pick<Origin, 'url'>,
  options: object,
  properties: object,
): Promise<InspectorTab> {
  const tab = await openInspector(browser, origin)
  await tab.show(options, properties)
  return tab
}
