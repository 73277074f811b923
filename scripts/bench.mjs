// `npm run bench`: set up, build, and measure. What stands after `--` goes to the benchmarks.
import { spawnSync } from 'node:child_process'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await build()
  process.stdout.write('\n')
  const bench = spawnSync(process.execPath, [at('benches', 'run.mjs'), ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exitCode = bench.status ?? 1
})
