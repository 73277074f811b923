// Bundled for Node, as servers and functions are deployed: one folder, and nothing installed beside it.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { esbuilt, webpacked } from './builds.ts'
import { type Consumer, consumer, expected, program, versioned } from './consumer.ts'
import { flakyServer } from './flaky-server.ts'
import { tries } from './tries.ts'
import { type Budget, type Weight, weighProgram } from './weigh.ts'

const BUDGET: Budget = { before: 204_500, after: 204_500 }

const files = {
  'queue.js': program,
  'main.js': `import { main } from './queue.js'
    main(process.argv[2]).then((answer) => console.log(JSON.stringify(answer)))`,
}

/** Runs the output in `dist/` without the package, and weighs it. */
async function ran(project: Consumer, script: string): Promise<Weight> {
  rmSync(join(project.folder, 'node_modules'), { recursive: true })
  await using server = await flakyServer()
  expect(await project.node(`dist/${script}`, `${server.origin}/api/bundled`)).toEqual(expected)
  expect(server.hits('/api/bundled')).toBe(2)
  return weighProgram(project, 'dist', BUDGET)
}

for (const format of ['esm', 'cjs'] as const) {
  tries(versioned('esbuild', 'esbuild'), `--platform=node --format=${format}`, async () => {
    using project = consumer(files)
    const extension = format === 'esm' ? '.mjs' : '.cjs'
    const node = { platform: 'node', format, splitting: false, outExtension: { '.js': extension } } as const
    await esbuilt(project, node)
    return await ran(project, `main${extension}`)
  })
}

tries(versioned('webpack', 'webpack'), 'target node', async () => {
  using project = consumer({ 'src/index.js': files['main.js'], 'src/queue.js': files['queue.js'] })
  await webpacked(project, { target: 'node' })
  return await ran(project, 'main.js')
})
