// `npm run findings -- [word]`: runs the scripts of findings/ one by one, each in a folder of its own, and prints which still hold.
import { readdirSync, readFileSync } from 'node:fs'
import { at } from './lib/paths.mjs'
import { main, run, StepError, step, tell } from './lib/steps.mjs'
import { nodeStep } from './setup/node.mjs'

/** With the packages of npm still to come. */
const LIMIT_MS = 180_000

await main(async () => {
  const [word = ''] = process.argv.slice(2)
  const names = readdirSync(at('findings')).filter((name) => name.endsWith('.sh') && name.includes(word))
  if (names.length === 0) throw new StepError(`no finding has '${word}' in its name`)
  await nodeStep()
  const changed = []
  for (const name of names) {
    const file = at('findings', name)
    const claim = readFileSync(file, 'utf8').split('\n')[1]?.replace(/^# /, '')
    await step(name.replace('.sh', ''), async () => {
      const { code, output } = await run('bash', [file], { limitMs: LIMIT_MS, allowFailure: true })
      tell(`  ${claim}\n  seen: ${output.trimEnd().split('\n').at(-1)}`)
      if (code !== 0) throw new StepError(output.trimEnd())
      return 'holds'
    }).catch((error) => changed.push([name, error.message]))
  }
  for (const [name, output] of changed) tell(`\n--- ${name}\n${output}`)
  tell(`\nfindings: ${names.length - changed.length} hold, ${changed.length} do not`)
  if (changed.length > 0) process.exitCode = 1
})
