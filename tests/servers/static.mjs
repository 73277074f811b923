/**
 * Files for pages, from the same origin as the API: what a browser asks of a cross-origin server (preflights, exposed
 * headers) is then a choice of the test and not a side effect of it. `?csp=` puts that Content-Security-Policy on a
 * page, so that one page can be tried under several.
 */
import { readFile } from 'node:fs/promises'
import { extname, join, normalize, sep } from 'node:path'

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** @param mounts pairs of URL prefix and folder: `{ '/pkg/': '/somewhere/pkg' }`. The longest prefix wins. */
export function staticFiles(mounts) {
  const prefixes = Object.keys(mounts).sort((a, b) => b.length - a.length)
  return async function serve(url, response) {
    const path = decodeURIComponent(url.pathname)
    const prefix = prefixes.find((candidate) => path.startsWith(candidate))
    if (prefix === undefined) return false
    const rest = path.slice(prefix.length)
    const root = normalize(mounts[prefix] + sep)
    const file = join(root, rest === '' || rest.endsWith('/') ? `${rest}index.html` : rest)
    if (!file.startsWith(root)) return false
    const bytes = await readFile(file).catch(() => null)
    if (bytes === null) return false
    const policy = url.searchParams.get('csp')
    response.writeHead(200, {
      'content-type': types[extname(file)] ?? 'application/octet-stream',
      // asked for anew each time, and yet a page may be kept for the way back
      'cache-control': 'no-cache',
      ...(policy === null ? {} : { 'content-security-policy': policy }),
    })
    response.end(bytes)
    return true
  }
}
