/** Browsers that are gone when the test is over. */
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { Browser as Mortal, Tab } from '../faults/browser/browser.ts'
import { startChromium } from '../faults/browser/chromium.ts'
import { freshFolder } from '../folder.ts'
import { eventually } from '../js/eventually.ts'
import { launchOn } from './chromium.ts'

/** A device of its own for one test. */
export async function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  onTestFinished(() => context.close())
  return context
}

/** A browser of its own for one test, on a new profile that is made ready first. */
export async function newWindow(prepare: (profile: string) => void = () => {}): Promise<BrowserContext> {
  const profile = freshFolder()
  prepare(profile)
  const context = await launchOn(profile)
  onTestFinished(() => context.close())
  return context
}

/** A Chromium as a user has it, which can be killed and whose tabs can be frozen; gone when the test is over. */
export async function startMortal(profile: string): Promise<Mortal> {
  const ended = new AbortController()
  const browser = await startChromium(profile, ended.signal)
  onTestFinished(async () => {
    ended.abort()
    await browser.gone
  })
  return browser
}

/** A tab of it, once `isHere` holds in its page. */
export async function openTab(browser: Mortal, url = 'about:blank', isHere = 'true'): Promise<Tab> {
  const tab = await browser.open({ said() {}, crashed() {} }, { script: '', alone: false })
  if (url !== 'about:blank') await tab.load(url)
  await eventually(() => tab.run(isHere)).toBe(true)
  return tab
}
