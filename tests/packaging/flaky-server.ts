// Answers each call of an API with 503 once and then with 200: every path under /api/, and whatever is posted. Everything else is
// a file of the page under test; where there is no page, everything is the API's.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { serving } from '../loopback.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
}
// `*` does not stand for a credential
const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*, authorization' }

export interface FlakyServer extends AsyncDisposable {
  readonly origin: string
  /** How often a path was asked for. */
  hits(path: string): number
}

/** `policy`: the Content-Security-Policy of the pages. */
export async function flakyServer(pages?: string, policy?: string): Promise<FlakyServer> {
  const hits = new Map<string, number>()
  const { url, close } = await serving((request, response) => {
    const path = new URL(request.url ?? '/', 'http://server').pathname
    if (pages === undefined || path.startsWith('/api/') || request.method !== 'GET') {
      if (request.method === 'OPTIONS') return response.writeHead(204, cors).end()
      const attempt = (hits.get(path) ?? 0) + 1
      hits.set(path, attempt)
      return response.writeHead(attempt === 1 ? 503 : 200, cors).end(`attempt ${attempt}`)
    }
    const file = join(pages, path === '/' ? 'index.html' : path)
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end()
    const csp = policy === undefined ? {} : { 'content-security-policy': policy }
    const headers = { 'content-type': types[extname(file)] ?? 'text/plain', ...csp }
    return response.writeHead(200, headers).end(readFileSync(file))
  })
  return { origin: url, hits: (path) => hits.get(path) ?? 0, [Symbol.asyncDispose]: close }
}
