import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as esbuild from 'esbuild'
import { convertV4MiniflareOptions, Miniflare, type V4ModuleDefinition, type V4WorkerOptions } from 'miniflare'
import { unpacked } from './pack.ts'

type Objects = Pick<V4WorkerOptions, 'durableObjects'>

/** workerd with one Worker, which is what its first module exports, and the objects that are bound to it. */
export function workerd(modules: V4ModuleDefinition[], objects: Objects = {}): Miniflare & AsyncDisposable {
  const miniflare = new Miniflare(convertV4MiniflareOptions({ modules, compatibilityDate: '2026-07-01', ...objects }))
  return Object.assign(miniflare, { [Symbol.asyncDispose]: () => miniflare.dispose() })
}

/** The script with the wasm modules that it imports, as a Worker is deployed. */
export async function workerModules(folder: string) {
  const wasm = ['redrive.wasm', 'redrive-keys.wasm'].map((path) => {
    return { type: 'CompiledWasm', path, contents: readFileSync(join(unpacked, path)) } as const
  })
  return [{ type: 'ESModule', path: 'worker.js', contents: await bundleWorker(folder) } as const, ...wasm]
}

/** As Cloudflare's own tool bundles: the conditions it sets, a wasm import left as a module of its own. */
export async function bundleWorker(folder: string): Promise<string> {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: folder,
    entryPoints: ['worker.js'],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
    plugins: [
      {
        name: 'compiled-wasm',
        setup: (build) =>
          build.onResolve({ filter: /\.wasm$/ }, ({ path }) => ({ path: `./${basename(path)}`, external: true })),
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}
