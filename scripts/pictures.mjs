// `npm run pictures`: photographs the elements in a real Chromium, each view light and dark, wide and narrow, and in the states that a reader may meet, and
// writes docs/pictures/. `npm run pictures -- lab` takes those alone whose names begin with a word. Pictures are cut to what fits a screen, and to 64 colours.
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main, step, tell } from './lib/steps.mjs'
import { setup } from './setup.mjs'

const WIDE = { name: 'wide', width: 1440, height: 1000 }
const NARROW = { name: 'narrow', width: 360, height: 780 }
const COLOURS = 64

const html = (
  body,
) => `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>redrive</title><link rel="stylesheet" href="/page.css"><script type="module" src="/ui/ui.js"></script><body>${body}</body></html>`
const css =
  ':root { color-scheme: light dark } body { margin: 0 } redrive-curve, redrive-inspector { border-radius: 0; min-height: 100vh }'
const types = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' }

/** The package and a page for each scene, from one origin, under the policy that the elements promise to work with. */
function serve(scenes) {
  return createServer((request, response) => {
    const path = new URL(request.url, 'http://page').pathname
    const scene = scenes.find(({ name }) => path === `/${name}`)
    const [, folder, name] = /^\/(pkg|ui)\/([\w.-]+)$/.exec(path) ?? []
    const file = name && (folder === 'ui' ? at('pkg-service', 'ui', name) : at('pkg', name))
    const content = scene ? html(scene.body) : path === '/page.css' ? css : file && readFileSync(file)
    response.setHeader('content-security-policy', "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'")
    response.setHeader(
      'content-type',
      scene ? types['.html'] : (types[/\.\w+$/.exec(path)?.[0]] ?? 'application/octet-stream'),
    )
    response.writeHead(content === undefined ? 404 : 200)
    response.end(content)
  })
}

async function shoot(browser, origin, scene, size, scheme, folder) {
  const { default: sharp } = await import('sharp')
  const context = await browser.newContext({
    viewport: size,
    colorScheme: scheme,
    reducedMotion: 'reduce',
    deviceScaleFactor: 1,
  })
  const page = await context.newPage()
  if (scene.isClockOurs) await page.clock.install()
  await page.goto(`${origin}/${scene.name}${scene.fragment ?? ''}`)
  await scene.ready(page)
  const bytes = await page.screenshot()
  const file = join(folder, `${scene.name}-${size.name}-${scheme}.png`)
  await sharp(bytes).png({ palette: true, colours: COLOURS, effort: 10 }).toFile(file)
  await context.close()
}

await main(async () => {
  const [only = ''] = process.argv.slice(2)
  await setup({ chromium: true })
  await build()
  const { chromium } = await import('playwright-core')
  const { scenes: all } = await import('./pictures/scenes.mjs')
  const scenes = all.filter(({ name }) => name.startsWith(only))
  const folder = at('docs', 'pictures')
  mkdirSync(folder, { recursive: true })
  const server = serve(scenes)
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${server.address().port}`
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH,
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  })
  try {
    for (const scene of scenes) {
      await step(scene.name, async () => {
        for (const size of scene.sizes ?? [WIDE, NARROW]) {
          for (const scheme of ['light', 'dark']) await shoot(browser, origin, scene, size, scheme, folder)
        }
      })
    }
  } finally {
    await browser.close()
    server.closeAllConnections()
    server.close()
  }
  tell(`${folder}`)
})
