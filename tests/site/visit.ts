// A page of the built site in a real Chromium, with everything that it must not do kept for the test.
import type { BrowserContext, Page } from 'playwright-core'
import { launch } from '../browser/chromium.ts'
import { serveSite } from './serve.ts'

export type Scheme = 'light' | 'dark'

export interface Visit {
  readonly page: Page
  /** What it said to the console, what it threw, and what the Content-Security-Policy refused. */
  readonly complaints: readonly string[]
  /** Addresses at other hosts that it asked for. */
  readonly strangers: readonly string[]
}

export interface Visitor extends AsyncDisposable {
  readonly origin: string
  /** A browser that has been nowhere. */
  fresh(scheme?: Scheme): Promise<BrowserContext>
  /** Opens a page, and waits until it asks for nothing more. */
  open(path: string, context: BrowserContext): Promise<Visit>
}

export async function visitor(): Promise<Visitor> {
  const [browser, served] = await Promise.all([launch(), serveSite()])
  const { url: origin } = served
  return {
    origin,
    fresh: (scheme = 'light') => browser.newContext({ colorScheme: scheme }),
    async open(path, context) {
      const page = await context.newPage()
      const complaints: string[] = []
      const strangers: string[] = []
      await page.exposeFunction('complain', (text: string) => void complaints.push(text))
      await page.addInitScript(() => {
        const { complain } = globalThis as unknown as { complain(text: string): void }
        addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
          complain(`${violatedDirective} refuses ${blockedURI}`),
        )
      })
      page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`))
      page.on('pageerror', (error) => complaints.push(String(error)))
      page.on('response', (response) => {
        if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`)
      })
      page.on('request', (request) => {
        const url = request.url()
        if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:')) strangers.push(url)
      })
      await page.goto(origin + path, { waitUntil: 'networkidle' })
      return { page, complaints, strangers }
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await served.close()
    },
  }
}
