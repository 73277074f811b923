/** A Firefox over WebDriver BiDi. It can be killed, and its tabs closed and led away and back; not crashed, frozen or unplugged. */

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { launch, type Page } from 'puppeteer-core'
import type { Browser, Start, Tab } from './browser.ts'

export const startFirefox: Start = async (profile, signal) => {
  const executablePath = process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr'
  if (!existsSync(executablePath)) {
    throw new Error(`no Firefox at ${executablePath}: set FIREFOX_PATH, or apt-get install firefox-esr`)
  }
  // a signal that comes while it starts kills it too
  const start = () => launch({ browser: 'firefox', executablePath, headless: true, userDataDir: profile, signal })
  // what was killed a moment ago may still be tidying up the profile
  const firefox = await start().catch((error) => (error?.code === 'ENOENT' ? start() : Promise.reject(error)))
  const child = firefox.process()
  const pid = child?.pid
  if (!child || pid === undefined) throw new Error('Firefox has no process')
  const kill = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGKILL')
  }
  const gone = once(child, 'close').then(() => {})
  return {
    async open(ear, { script }) {
      const page = await firefox.newPage()
      page.on('console', (message) => ear.said(message.text()))
      page.on('error', () => ear.crashed())
      await page.evaluateOnNewDocument(script)
      return tabOf(page)
    },
    kill,
    async close() {
      await Promise.all([firefox.close(), gone])
    },
    gone,
  } satisfies Browser
}

const tabOf = (page: Page): Tab => ({
  run: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
  async load(url) {
    await page.goto(url)
  },
  async back() {
    // `goBack` waits for a load, and a page from the back/forward cache loads nothing
    await page.evaluate('void history.back()')
  },
  async show() {
    await page.bringToFront()
  },
  close: () => page.close(),
})
