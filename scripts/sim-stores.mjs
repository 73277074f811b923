// `npm run sim`: set up, build the core, and simulate queues that share a store. What stands after `--` goes to the
// simulation: `npm run sim -- --seeds 100 --store memory`, `-- --replay SEED --verbose`, `-- --no-hints`.
import { spawnSync } from 'node:child_process'
import { buildWasmStep } from './build-wasm.mjs'
import { at } from './lib/paths.mjs'
import { main } from './lib/steps.mjs'
import { setup } from './setup.mjs'

await main(async () => {
  await setup()
  await buildWasmStep()
  const sim = spawnSync(process.execPath, [at('tests', 'sim', 'main.ts'), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exitCode = sim.status ?? 1
})
