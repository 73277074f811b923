// One suite in Node, then in a real Chromium: the page is isolated, which gives it a clock of 5 us and `SharedArrayBuffer`.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { launch } from '../../tests/browser/chromium.ts'
import { measureSuite } from './suite.mjs'

const full = process.argv.includes('--full')
const file = (path) => fileURLToPath(new URL(path, import.meta.url))

async function bundle(name) {
  const contents = `
    import { measureSuite } from './suite.mjs'
    import * as suite from './suites/${name}.mjs'
    globalThis.measured = (env) => measureSuite(suite, env)`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: file('.') },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  })
  return outputFiles[0].text
}

const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }

async function serve(script) {
  const server = createServer(({ url }, response) => {
    const [type, body] =
      url === '/bench.js'
        ? ['text/javascript', script]
        : ['text/html', '<!doctype html><script type="module" src="/bench.js"></script>']
    response.writeHead(200, { ...ISOLATED, 'content-type': `${type}; charset=utf-8` }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function inChromium(name) {
  let browser
  try {
    browser = await launch()
  } catch (error) {
    console.log(`Chromium left out: ${error.message}\n`)
    return undefined
  }
  const server = await serve(await bundle(name))
  try {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${server.address().port}/`)
    await page.waitForFunction(() => globalThis.measured !== undefined)
    if (!(await page.evaluate(() => globalThis.crossOriginIsolated))) throw new Error('the page is not isolated')
    return { version: browser.version(), figures: await page.evaluate((env) => globalThis.measured(env), { full }) }
  } finally {
    await browser.close()
    server.close()
  }
}

/** @returns {Promise<{ where: string, figures: Record<string, Record<string, number>> }[]>} Node's, then Chromium's */
export async function measureInBoth(name) {
  const suite = await import(`./suites/${name}.mjs`)
  const node = await measureSuite(suite, { full, createHash })
  const page = await inChromium(name)
  return [
    { where: 'Node', figures: node },
    ...(page ? [{ where: `Chromium ${page.version.split('.')[0]}`, figures: page.figures }] : []),
  ]
}
