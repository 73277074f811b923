/**
 * A page with elements of `@redrive/ui` under the strictest policy that they promise to work with. What the browser has to say against them is kept:
 * violations of the policy, errors, requests to anywhere else.
 */

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { staticFiles } from '../../servers/static.mjs'
import { here } from '../chromium.ts'

export const CSP = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"

export interface UiServer extends AsyncDisposable {
  readonly url: string
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
  const server: Server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://page')
    response.setHeader('content-security-policy', CSP)
    if (url.pathname === '/') {
      response.setHeader('content-type', 'text/html')
      response.end(html)
    } else if (made.refused?.test(url.pathname)) response.writeHead(503).end()
    else if (!(await files(url, response))) response.writeHead(404).end()
  })
  const made: UiServer = {
    url: '',
    refused: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(made, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
