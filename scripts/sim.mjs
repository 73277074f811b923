// `npm run sim:core`, `sim:spread` and `sim:storm`: set up, compile, and simulate. What stands after `--` goes to the
// simulation: `npm run sim:core -- --seeds 100 --events 5000 --first 7`, `-- --replay FILE`, `-- --trace FILE`.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { at, root } from './lib/paths.mjs'
import { main, run, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

const kinds = ['core', 'spread', 'storm']

await main(async () => {
  const [kind = '', ...args] = process.argv.slice(2)
  if (!kinds.includes(kind)) throw new StepError(`expected ${kinds.join(', ')}, got '${kind}'`)
  await setup()
  await step('simulation', () => run('cargo', ['build', '--release', '--package', 'sim'], { cwd: root }))
  process.stdout.write('\n')
  const folder = process.env.CARGO_TARGET_DIR ?? at('target')
  const program = join(folder, 'release', process.platform === 'win32' ? 'sim.exe' : 'sim')
  const sim = spawnSync(program, [kind, ...args], { stdio: 'inherit' })
  process.exitCode = sim.status ?? 1
})
