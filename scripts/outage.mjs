// `npm run outage`: several processes keep calling a real server through queues of the built package with their defaults;
// the server goes down and comes back. Prints what came of it and draws docs/outage.svg.
// `-- --down 10 --clients 2 --out target/outage.svg` for another run.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

/** An option, its name in run.mjs and what it is unless said otherwise. */
const numbers = [
  ['clients', 'clients', 4],
  ['slots', 'slots', 10],
  ['service', 'serviceMs', 50],
  ['load', 'load', 0.7],
  ['before', 'beforeS', 20],
  ['down', 'downS', 30],
  ['after', 'afterS', 15],
  ['limit', 'limitS', 600],
]

function readOptions() {
  const asked = numbers.map(([flag, , value]) => [flag, { type: 'string', default: String(value) }])
  const out = { type: 'string', default: at('docs', 'outage.svg') }
  const { values } = parseArgs({ options: { ...Object.fromEntries(asked), out } })
  const read = numbers.map(([flag, name]) => {
    const value = Number(values[flag])
    if (!(value > 0)) throw new StepError(`--${flag}: expected a number above 0, got '${values[flag]}'`)
    return [name, value]
  })
  return { out: values.out, ...Object.fromEntries(read) }
}

await main(async () => {
  const { out, ...options } = readOptions()
  await setup()
  await build()
  const [{ outage }, { chart }] = await Promise.all([import('./outage/run.mjs'), import('./outage/chart.mjs')])
  let run
  await step(`${options.clients} processes, a server away for ${options.downS} s`, async () => {
    run = await outage(options)
  })
  writeFileSync(out, chart(run))
  const { summary, capacity, upAt, drainedAt } = run
  const idealS = (options.downS * options.load) / (1 - options.load)
  const drained = drainedAt === null ? `not within ${options.limitS} s` : `${(drainedAt - upAt).toFixed(1)} s`
  const rows = [
    ['calls', `${summary.calls}, ${(capacity * options.load).toFixed(0)} a second to a server that can do ${capacity}`],
    ['requests sent', `${summary.attempts}: amplification ${summary.amplification.toFixed(3)}`],
    ['most tasks held', summary.deepest],
    ['drained after', `${drained} (the server's spare capacity alone allows ${idealS.toFixed(1)} s)`],
    ['lost', `${summary.lost}, of which dead letters ${summary.deadLetters}`],
    ['done twice', summary.repeated],
  ]
  process.stdout.write(`\n${rows.map(([name, value]) => `  ${name.padEnd(18)}${value}`).join('\n')}\n`)
})
