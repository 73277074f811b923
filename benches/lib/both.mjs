// One suite in Node, then in a real Chromium.
import { createHash } from 'node:crypto'
import { launch } from '../../tests/browser/chromium.ts'
import { bundle, servePage } from './page.mjs'
import { smoke } from './smoke.mjs'
import { measureSuite } from './suite.mjs'

const given = { full: process.argv.includes('--full'), smoke }

const script = (name) =>
  bundle(`
    import { measureSuite } from './suite.mjs'
    import * as suite from './suites/${name}.mjs'
    globalThis.measured = (env) => measureSuite(suite, env)`)

async function inChromium(name) {
  let browser
  try {
    browser = await launch()
  } catch (error) {
    console.log(`Chromium left out: ${error.message}\n`)
    return undefined
  }
  const server = await servePage(await script(name))
  try {
    const page = await browser.newPage()
    await page.goto(server.url)
    await page.waitForFunction(() => globalThis.measured !== undefined)
    if (!(await page.evaluate(() => globalThis.crossOriginIsolated))) throw new Error('the page is not isolated')
    return { version: browser.version(), figures: await page.evaluate((env) => globalThis.measured(env), given) }
  } finally {
    await browser.close()
    server.close()
  }
}

/** @returns {Promise<{ where: string, figures: Record<string, Record<string, number>> }[]>} Node's, then Chromium's */
export async function measureInBoth(name) {
  const suite = await import(`./suites/${name}.mjs`)
  const node = await measureSuite(suite, { ...given, createHash })
  const page = await inChromium(name)
  return [
    { where: 'Node', figures: node },
    ...(page ? [{ where: `Chromium ${page.version.split('.')[0]}`, figures: page.figures }] : []),
  ]
}
