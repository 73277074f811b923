// `npm run format`: formats every file as `npm run check` wants it.
import { packageBin, root } from './lib/paths.mjs'
import { main, run, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await step('rustfmt', () => run('cargo', ['fmt', '--all'], { cwd: root }).then(() => undefined))
  await step('biome', async () => {
    const biome = packageBin('@biomejs/biome', 'bin/biome')
    const { output } = await run(process.execPath, [biome, 'check', '--write'], { cwd: root })
    return output.trim().split('\n').at(-1)
  })
})
