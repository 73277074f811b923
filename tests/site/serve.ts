// The built site as a host of files gives it, with the Content-Security-Policy that it has to work under as a header.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { policy } from '../../site/.vitepress/policy.ts'
import { type Serving, serving } from '../loopback.ts'

export const site: string = fileURLToPath(new URL('../../target/site', import.meta.url))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** The file at a path: a page has no ending in its address. */
function fileAt(path: string): string | undefined {
  const file = join(site, path)
  if (!file.startsWith(site)) return undefined
  const candidates = path.endsWith('/') ? [join(file, 'index.html')] : [file, `${file}.html`]
  return candidates.find((each) => existsSync(each) && statSync(each).isFile())
}

export function serveSite(): Promise<Serving> {
  return serving((request, response) => {
    const file = fileAt(decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname))
    const shown = file ?? join(site, '404.html')
    response.writeHead(file === undefined ? 404 : 200, {
      'content-type': types[extname(shown)] ?? 'application/octet-stream',
      'content-security-policy': policy,
    })
    response.end(readFileSync(shown))
  })
}
