// A page to measure in: its script bundled here, the package served as it was built, everything from one loopback
// origin. The page is isolated, which gives it a clock of 5 us and `SharedArrayBuffer`.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { folder as pkg } from './package.mjs'

const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
const TYPES = { js: 'text/javascript', wasm: 'application/wasm' }

/** `contents` is a module of benches/lib/; what it imports from `/pkg/` is left for the page to fetch. */
export async function bundle(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    external: ['/pkg/*'],
    define: { 'process.env.NODE_ENV': '"production"' },
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  })
  return outputFiles[0].text
}

/** Serves a page that runs `script`, and more scripts by their paths. */
export async function servePage(script, more = {}) {
  const scripts = { '/bench.js': script, ...more }
  const answers = async (url) => {
    if (url in scripts) return ['text/javascript', scripts[url]]
    if (!url.startsWith('/pkg/')) return ['text/html', '<!doctype html><script type="module" src="/bench.js"></script>']
    const path = normalize(join(pkg, url.slice('/pkg/'.length)))
    return [TYPES[path.split('.').at(-1)] ?? 'text/plain', path.startsWith(pkg) ? await readFile(path) : '']
  }
  const server = createServer((request, response) => {
    answers(new URL(request.url, 'http://127.0.0.1').pathname).then(
      ([type, body]) => response.writeHead(200, { ...ISOLATED, 'content-type': `${type}; charset=utf-8` }).end(body),
      () => response.writeHead(404, ISOLATED).end(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return {
    url: `http://127.0.0.1:${port}/`,
    /** The same page at an origin of its own. */
    at: (name) => `http://${name}.localhost:${port}/`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
