// What the lab takes, module and messages included: crowds up to a million jobs, the comparison of all strategies, storms; and
// the longest of its slices, which is what a page without a Worker would stand still for. Run it after `npm run build`:
// npm run bench -- lab
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { policyFields } from '../js/core/policy-row.ts'
import { resolvePolicy } from '../js/options/policy-rules.ts'
import { presets } from '../js/options/presets.ts'
import { LabClient } from '../js/ui/engine/client.ts'
import { serve } from '../js/ui/engine/serve.ts'
import { generated } from '../scripts/lib/paths.mjs'
import { orLess } from './lib/smoke.mjs'

const folder = join(generated, 'lab')
const size = (bytes) =>
  `${bytes.length.toLocaleString('en')} bytes, ${gzipSync(bytes, { level: 9 }).length.toLocaleString('en')} gzipped`
console.log(`${cpus().length} x ${cpus()[0].model.trim()}, Node ${process.version}`)
console.log(`lab.wasm: ${size(readFileSync(join(folder, 'lab.wasm')))}`)
console.log(`packed:   ${size(readFileSync(join(folder, 'packed.js')))}\n`)

/** The time between two turns of messages: the first reading of a slice and the last. */
let longest = 0
let began
const clock = {
  now() {
    began ??= performance.now()
    return performance.now()
  },
}
const inProcess = (heard) => {
  const { port1, port2 } = new MessageChannel()
  const told = port2.postMessage.bind(port2)
  // every slice ends with a message
  port2.postMessage = (...words) => {
    told(...words)
    if (began !== undefined) longest = Math.max(longest, performance.now() - began)
    began = undefined
  }
  port1.onmessage = ({ data }) => heard(data)
  serve(port2, { clock })
  return { send: (message) => port1.postMessage(message), close: () => port1.close() }
}
const lab = new LabClient([inProcess])

console.log('| what | ms | longest slice, ms | |\n|---|---:|---:|---|')
async function measure(what, ask) {
  longest = 0
  const start = performance.now()
  const note = await ask()
  const ms = performance.now() - start
  console.log(`| ${what} | ${ms.toFixed(0)} | ${longest.toFixed(1)} | ${note} |`)
}

const fieldsOf = (name) => policyFields(resolvePolicy(presets[name]))
const doubling = {
  strategy: 'spread',
  initialDelayMs: 10_000,
  maxDelayMs: 8.64e15,
  keyTtlMs: 8.64e15,
  maxAttempts: 100,
}
const spread = policyFields(resolvePolicy(doubling))
const patient = policyFields(
  resolvePolicy({ strategy: 'spread', initialDelayMs: 500, maxDelayMs: 47_000, maxAttempts: 100 }),
)

async function crowd(fields, jobs) {
  const request = { fields, jobs: orLess(jobs), retries: 10, seed: 1, width: 1600, height: 900, dotsMax: 1_000 }
  const { idle, endMs } = await lab.crowd(request)
  return `${(idle * 100).toFixed(0)} % idle of ${(endMs / 60_000).toFixed(0)} min`
}

async function storm(clients, gates) {
  const server = {
    capacityPerSecond: orLess(1_000, 10),
    load: 0.7,
    backlog: 'deep',
    outage: 'hanging',
    calls: 'enqueued',
  }
  const outageMs = orLess(60_000, 1_000)
  const { drainedS, calls, collapsed } = await lab.outage({
    ...server,
    outageMs,
    fields: patient,
    clients,
    gates,
    seed: 1,
  })
  return `${calls.length} s simulated, ${collapsed ? 'stays down' : `drained in ${drainedS} s`}`
}

async function frontier() {
  const { rows } = await lab.frontier({ fields: fieldsOf('background'), crowds: orLess(20), seed: 1 })
  return `${rows.length} rows`
}

await measure('100 jobs, 10 retries, and the module', () => crowd(fieldsOf('sidekiq'), 100))
await measure('100 jobs, 10 retries', () => crowd(fieldsOf('sidekiq'), 100))
for (const jobs of [100_000, 1_000_000]) {
  const what = `${jobs.toLocaleString('en')} jobs, 10 retries`
  await measure(`${what}, sidekiq`, () => crowd(fieldsOf('sidekiq'), jobs))
  await measure(`${what}, background`, () => crowd(fieldsOf('background'), jobs))
  await measure(`${what}, spread that doubles, with its load`, () => crowd(spread, jobs))
}
await measure('15 strategies and a policy, 20 crowds each', frontier)
await measure('a storm, 200 clients, shipped gates', () => storm(200, 'shipped'))
await measure('a storm, 20,000 clients, shipped gates', () => storm(20_000, 'shipped'))
await measure('a storm, 200 clients, no gates', () => storm(200, 'none'))
await measure('a storm, 200 clients, budget alone', () => storm(200, 'budget'))
lab.close()
