/**
 * A page with elements of `@redrive/ui` under the strictest policy that they promise to work with. What the browser has to say against them is kept:
 * violations of the policy, errors, requests to anywhere else.
 */

import { type Serving, serving } from '../../loopback.ts'
import { staticFiles } from '../../servers/static.mjs'
import { here } from '../chromium.ts'

export const CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"

export interface UiServer extends Serving {
  /** Answers 503 to files of the package whose names fit. */
  refused: RegExp | undefined
}

/** What pages/ui.js keeps. */
export interface Kept {
  readonly violations: readonly string[]
  readonly errors: readonly string[]
}

export const KEPT = 'globalThis.kept'

/** `body`: markup of the page at `/`. */
export async function uiServer(body: string): Promise<UiServer> {
  const files = staticFiles({
    '/pkg/': here('../../pkg'),
    '/ui/': here('../../pkg-service/ui'),
    '/pages/': here('pages'),
  })
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Elements</title><link rel="icon" href="/pages/icon.svg"><link rel="stylesheet" href="/pages/ui.css"><script src="/pages/ui.js"></script>
    <script type="module" src="/ui/ui.js"></script><body><main><h1>Elements</h1>${body}</main></body></html>`
  const made: { refused: RegExp | undefined } = { refused: undefined }
  const served = await serving(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://page')
    response.setHeader('content-security-policy', CSP)
    if (url.pathname === '/') {
      response.setHeader('content-type', 'text/html')
      response.end(html)
    } else if (made.refused?.test(url.pathname)) response.writeHead(503).end()
    else if (!(await files(url, response))) response.writeHead(404).end()
  })
  return Object.assign(made, served)
}
