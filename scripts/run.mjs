// Sets up, builds the package and runs a program on it: `npm run demo`, `npm run bench` and `npm run trace`.
// The first argument is the program, all others are handed to it: `npm run bench -- scheduling`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setUpAndBuild } from './build.mjs'
import { at } from './lib/paths.mjs'
import { passOn } from './lib/signals.mjs'
import { main } from './lib/steps.mjs'

await main(async () => {
  const [program, ...args] = process.argv.slice(2)
  await setUpAndBuild()
  process.stdout.write('\n')
  const child = spawn(process.execPath, [at(program), ...args], { stdio: 'inherit' })
  passOn(child)
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
})
