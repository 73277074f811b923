import * as esbuild from 'esbuild'

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
    plugins: [
      {
        name: 'compiled-wasm',
        setup: (build) => build.onResolve({ filter: /\.wasm$/ }, () => ({ path: './redrive.wasm', external: true })),
      },
    ],
  })
  return outputFiles[0]?.text ?? ''
}
