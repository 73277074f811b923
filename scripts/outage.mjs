// `npm run outage`: several processes keep calling a real server through queues of the built package with their defaults;
// the server goes away and comes back. Prints what came of it and draws docs/outage.svg.
// `-- --down 10 --clients 2 --out target/outage.svg` for another run.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { build } from './build.mjs'
import { at } from './lib/paths.mjs'
import { main, StepError, step } from './lib/steps.mjs'
import { setup } from './setup.mjs'

const defaults = { clients: 4, slots: 10, service: 50, load: 0.7, before: 20, down: 30, after: 15, limit: 600 }

function readOptions() {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: String(value) }]),
  )
  const { values } = parseArgs({ options: { ...options, out: { type: 'string', default: at('docs', 'outage.svg') } } })
  const number = (name) => {
    const value = Number(values[name])
    if (!(value > 0)) throw new StepError(`--${name}: expected a number above 0, got '${values[name]}'`)
    return value
  }
  return {
    out: values.out,
    clients: number('clients'),
    slots: number('slots'),
    serviceMs: number('service'),
    load: number('load'),
    beforeS: number('before'),
    downS: number('down'),
    afterS: number('after'),
    limitS: number('limit'),
  }
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
