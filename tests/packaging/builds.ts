// What a user's bundlers make of a project, each with its own settings and without a warning. The output is in `dist/`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as esbuild from 'esbuild'
import { expect, onTestFinished, vi } from 'vitest'
import type { Configuration, Stats } from 'webpack'
import { type Consumer, pageOf } from './consumer.ts'
import { root } from './pack.ts'

/** `main.js` for a page, in as many files as it has chunks. */
export async function esbuilt({ folder }: Consumer, options: esbuild.BuildOptions = {}): Promise<esbuild.BuildResult> {
  const result = await esbuild.build({
    ...{ absWorkingDir: folder, entryPoints: ['main.js'], outdir: 'dist', logLevel: 'silent' },
    ...{ bundle: true, splitting: true, format: 'esm' },
    ...options,
  })
  expect(result.warnings).toEqual([])
  return result
}

export async function viteBuilt(project: Consumer): Promise<void> {
  await project.run(process.execPath, join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build')
}

/** `src/index.js`, and a page for it. */
export async function webpacked({ folder }: Consumer, options: Configuration = {}): Promise<void> {
  const { default: webpack } = await import('webpack')
  const stats = await new Promise<Stats | undefined>((resolve, reject) => {
    const output = { path: join(folder, 'dist') } // what its command line does
    const compiler = webpack({ context: folder, mode: 'production', output, ...options })
    if (compiler === null) return reject(new Error('webpack made no compiler'))
    compiler.run((error, result) => compiler.close(() => (error ? reject(error) : resolve(result))))
  })
  expect(stats?.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] })
  writeFileSync(join(folder, 'dist', 'index.html'), pageOf('/main.js'))
}

export async function rolled({ folder }: Consumer): Promise<void> {
  const { rollup } = await import('rollup')
  const { nodeResolve } = await import('@rollup/plugin-node-resolve')
  // the test runner's own would mean a build for development
  vi.stubEnv('NODE_ENV', undefined)
  onTestFinished(() => void vi.unstubAllEnvs())
  const warnings: string[] = []
  const onwarn = ({ message }: { readonly message: string }) => warnings.push(message)
  const bundle = await rollup({ input: join(folder, 'main.js'), plugins: [nodeResolve()], onwarn })
  await bundle.write({ dir: join(folder, 'dist') })
  await bundle.close()
  expect(warnings).toEqual([])
}

/** The bundlers of pages: what each is given, and how it is run. */
export const bundlers: Readonly<
  Record<'Vite' | 'webpack' | 'esbuild' | 'Rollup', readonly [html: string, main: string, build: typeof rolled]>
> = {
  Vite: ['index.html', 'main.js', viteBuilt],
  webpack: ['dist/none', 'src/index.js', webpacked],
  esbuild: ['dist/index.html', 'main.js', async (project) => void (await esbuilt(project))],
  Rollup: ['dist/index.html', 'main.js', rolled],
}
