/**
 * An origin whose API answers as the test says and notes all it is asked, and a page on it with the package and no queue
 * yet: what the tests of a durable queue in a browser stand on.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeEach } from 'vitest'
import type { DegradedCode, RetryQueue, RetryQueueOptions } from '../../js/index.ts'
import { staticFiles } from '../servers/static.mjs'
import { here } from './chromium.ts'
import { listenDuringTests, type Origin } from './origins.ts'

/** What pages/lab.js exposes. */
export interface Lab {
  readonly RetryQueue: new (options?: RetryQueueOptions) => RetryQueue
  /** Makes the queue of this page, with short waits. */
  readonly open: (options?: RetryQueueOptions) => RetryQueue
  queue: RetryQueue
  /** Text of so many letters, all by chance. */
  readonly noise: (length: number) => string
  readonly done: <T>(request: IDBRequest<T>) => Promise<T>
  readonly degraded: readonly { readonly code: DegradedCode; readonly message: string }[]
  readonly ended: readonly { readonly taskId: string; readonly status: string; readonly reason?: string }[]
}
declare global {
  var lab: Lab
}

export interface Received {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** How many came to this path before. */
  readonly before: number
}

/** A status, or an answer given by hand; 'reset' cuts the connection, 'never' leaves it open. */
export type Answer = number | 'reset' | 'never' | ((response: ServerResponse) => void)

export interface LabOrigin extends Origin {
  /** What came to `/api/`, in order. */
  readonly received: Received[]
  /** What `/api/` answers; 200 at first. */
  answer: (received: Received) => Answer
  /** Files of this path are served once this has resolved, and refused with a 503 where it rejects; absent: at once. */
  holdBack: ((path: string) => Promise<void> | undefined) | undefined
  /** As when it was made. */
  reset(): void
}

/** Listens during the tests of its file, and is as when it was made before each. `files`: further scripts by path. */
export function labOrigin(files: Readonly<Record<string, () => string>> = {}): LabOrigin {
  const received: Received[] = []
  const serveFile = staticFiles({
    '/pkg/': here('../../pkg'),
    '/ui/': here('../../pkg-service/ui'),
    '/pages/': here('pages'),
  })
  const ok = (): Answer => 200
  const origin: LabOrigin = {
    server: createServer((request, response) => void serve(request, response)),
    url: '',
    received,
    answer: ok,
    holdBack: undefined,
    reset() {
      received.length = 0
      origin.answer = ok
      origin.holdBack = undefined
    },
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const path = new URL(url, 'http://lab').pathname
    // a page without an origin of its own, as in a sandbox, asks across
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    const file = files[path]
    if (file) {
      response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html')
      response.end(file())
      return
    }
    if (!path.startsWith('/api/')) {
      const isRefused = await origin.holdBack?.(path)?.then(
        () => false,
        () => true,
      )
      if (isRefused) {
        response.writeHead(503).end()
        return
      }
      if (!(await serveFile(new URL(url, 'http://lab'), response))) response.writeHead(404).end()
      return
    }
    if (method === 'OPTIONS') {
      response.writeHead(204).end()
      return
    }
    const body = await text(request)
    const before = received.filter((each) => each.path === path).length
    const come = { method, url, path, headers, body, before }
    received.push(come)
    const answer = origin.answer(come)
    if (answer === 'reset') request.socket.destroy()
    else if (typeof answer === 'number') response.writeHead(answer).end(`${answer}`)
    else if (typeof answer === 'function') answer(response)
  }
  listenDuringTests(origin)
  beforeEach(() => origin.reset())
  return origin
}

/** A page of `context` at `origin`, its scripts run; `before`: a script that runs before any of them. */
export async function openLab(context: BrowserContext, origin: Origin, before?: () => void): Promise<Page> {
  const page = await context.newPage()
  if (before) await page.addInitScript(before)
  await page.goto(`${origin.url}/pages/lab.html`)
  await page.waitForFunction(() => globalThis.lab !== undefined)
  return page
}
