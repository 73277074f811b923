// The bytes of a package after gzip: what a page with `RetryQueue` and `wrapFetch`, bundled into chunks, loads at once, all that it
// may load later, and the two modules as files. Each chunk is compressed by itself, and a file that a later chunk needs as well
// is loaded whole, so a page gets more than the check of sizes counts, which leaves later chunks out of the bundle.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length

export async function sizesOf(folder) {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: "export { RetryQueue } from './index.page.js'; export { wrapFetch } from './fetch.js'",
      resolveDir: folder,
    },
    absWorkingDir: folder,
    outdir: join(folder, 'sized'),
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const sizes = new Map(outputFiles.map(({ path, contents }) => [path, gzipped(contents)]))
  const atOnce = new Set()
  const visit = (file) => {
    if (atOnce.has(file)) return
    atOnce.add(file)
    for (const { path, kind } of metafile.outputs[file].imports) if (kind === 'import-statement') visit(path)
  }
  visit('sized/stdin.js')
  const sum = (files) => files.reduce((bytes, file) => bytes + sizes.get(join(folder, file)), 0)
  const files = Object.keys(metafile.outputs)
  return {
    atOnce: sum(files.filter((file) => atOnce.has(file))),
    later: sum(files.filter((file) => !atOnce.has(file))),
    queue: gzipped(readFileSync(join(folder, 'redrive.wasm'))),
    keys: gzipped(readFileSync(join(folder, 'redrive-keys.wasm'))),
  }
}
