// Sets up and runs a simulation: `npm run sim` (queues that share a store, in TypeScript), `npm run sim:core`,
// `npm run sim:spread`, `npm run sim:crowd`, `npm run sim:storm` and `npm run sim:lab` (the core, in Rust), `npm run sim:gates -- --http` (queues and a real server). Arguments are handed to the simulation:
// `npm run sim -- --seeds 100 --store memory`, `npm run sim -- --replay SEED --verbose`,
// `npm run sim:core -- --seeds 100 --events 5000 --first 7`, `npm run sim:core -- --replay FILE`.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { buildWasmStep } from './build-wasm.mjs'
import { at, root } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

const kinds = ['stores', 'core', 'spread', 'crowd', 'storm', 'lab', 'gates']

/** @returns the program and its first argument, after building what it needs */
async function prepare(kind, args) {
  if (kind === 'stores') {
    await buildWasmStep()
    return [process.execPath, at('tests', 'sim', 'main.ts')]
  }
  if (kind === 'gates' && args.includes('--http')) {
    await buildWasmStep()
    return [process.execPath, at('tests', 'faults', 'gates', 'main.ts')]
  }
  await step('simulation', () => run('cargo', ['build', '--release', '--package', 'sim'], { cwd: root }))
  const folder = process.env.CARGO_TARGET_DIR ?? at('target')
  return [join(folder, 'release', process.platform === 'win32' ? 'sim.exe' : 'sim'), kind]
}

await main(async () => {
  const [kind = '', ...args] = process.argv.slice(2)
  if (!kinds.includes(kind)) throw new StepError(`expected ${kinds.join(', ')}, got '${kind}'`)
  await setup()
  const [program, first] = await prepare(kind, args)
  process.stdout.write('\n')
  const { status } = spawnSync(program, [first, ...args], { stdio: 'inherit' })
  process.exitCode = status ?? 1
})
