// `npm run demo`: set up, build, and show the main job run. What stands after `--` goes to the demo.
import { spawnSync } from 'node:child_process'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await build()
  process.stdout.write('\n')
  const demo = spawnSync(process.execPath, [at('examples', 'demo', 'run.mjs'), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exitCode = demo.status ?? 1
})
