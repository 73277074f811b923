/** A browser as suites want it that run in several: what drives it is its own affair. */
import { SIZE } from '../size.ts'
import { crash, launch } from './chromium.ts'
import { launchFirefox } from './firefox.ts'

export interface Engine {
  /** A tab of its own, once its page has loaded. All tabs of an engine share what the browser keeps. */
  open(url: string): Promise<Tab>
  close(): Promise<unknown>
}
export interface Tab {
  /** What an expression of the page comes to, as JSON has it, promises waited for. */
  run<T>(expression: string): Promise<T>
  reload(): Promise<unknown>
  /** A tab that is closed already stays so. */
  close(): Promise<unknown>
  /** It ends without a word to its page, as far as the browser lets it; absent: it does not. */
  kill?(): Promise<unknown>
}

export async function chromium(): Promise<Engine> {
  const browser = await launch()
  const context = await browser.newContext()
  return {
    async open(url) {
      const page = await context.newPage()
      await page.goto(url)
      return {
        run: (expression) => page.evaluate(expression),
        reload: () => page.reload(),
        close: () => page.close(),
        kill: () => crash(page),
      }
    },
    close: () => browser.close(),
  }
}

export async function firefox(): Promise<Engine> {
  const browser = await launchFirefox()
  return {
    async open(url) {
      const page = await browser.newPage()
      await page.goto(url)
      return {
        run: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
        reload: () => page.reload(),
        close: async () => page.isClosed() || (await page.close()),
      }
    },
    close: () => browser.close(),
  }
}

/** Those that a suite runs in: Firefox is started in larger runs only. */
export const engines: readonly (readonly [name: string, launch: () => Promise<Engine>])[] = [
  ['Chromium', chromium],
  ...(SIZE === 'quick' ? [] : [['Firefox', firefox] as const]),
]
