/** A real Firefox over WebDriver BiDi, beside the Chromium of the other tests. */
import { existsSync } from 'node:fs'
import puppeteer, { type Browser } from 'puppeteer-core'

/** `profile`: a folder that outlives the browser; without it there is a fresh one. */
export function launchFirefox({ profile }: { readonly profile?: string } = {}): Promise<Browser> {
  const paths = [process.env.FIREFOX_PATH, '/usr/bin/firefox-esr', '/usr/bin/firefox']
  const executablePath = paths.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined) {
    throw new Error('no Firefox for the browser tests: set FIREFOX_PATH, or `apt-get install firefox-esr`')
  }
  return puppeteer.launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    ...(profile === undefined ? {} : { userDataDir: profile }),
  })
}
