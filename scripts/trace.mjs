// `npm run trace`: set up, build, and print one task's trace over three attempts and a restart.
import { spawnSync } from 'node:child_process'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await build()
  process.stdout.write('\n')
  const { status } = spawnSync(process.execPath, [at('examples', 'trace', 'run.mjs')], { stdio: 'inherit' })
  process.exitCode = status ?? 1
})
