// Measures redrive beside what people use today, all in one run: on another machine, or a busy one, the absolute
// figures differ and the ratios hold. Nothing fails on a figure; benches inform, tests judge.
//
//   npm run bench                              all of them
//   npm run bench -- --full                    also 1,000,000 tasks; 100,000 in IndexedDB
//   npm run bench -- scheduling lateness       only these
//   npm run bench -- --smoke                   that they work, in seconds: the figures mean nothing
//   npm run bench -- profile --tasks 10000     not one of them, and takes the words behind it
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { passOn } from '../scripts/lib/signals.mjs'

const benches = {
  'happy-path': 'a call that succeeds at once: what wrapping costs',
  loopback: '503, then 200, over real HTTP on loopback',
  scheduling: 'cost of an attempt with 1,000 to 1,000,000 tasks waiting',
  gates: 'what breaker and retry budget add to the cost of an attempt',
  memory: 'bytes per waiting task',
  drained: 'what a process keeps when a great many tasks are done',
  stores: 'tasks in a store: taken, run, taken up again, and beside an origin that is held',
  lanes: 'the same tasks at one origin and at ten thousand, from each kind of store',
  turns: 'what goes before a single task while tenants with thousands of origins flood the store',
  seats: 'a transaction of the store before each attempt of a task that is not stored',
  indexeddb: 'tasks in a browser, beside whoever else keeps requests there, in Chromium',
  lateness: 'how late a due task starts, and wake-ups while idle',
  'cold-start': 'import and start in a fresh process',
  keys: 'the key of a request beside other SHA-256s, in Node and in Chromium',
  json: 'the key of a JSON body: canonical form and hash, in Node and in Chromium',
  headers: 'which of 20 headers may be kept, in Node and in Chromium',
  delays: 'one wait, in Node and in Chromium',
  agenda: 'what is due when, beside two heaps, in Node and in Chromium',
  parts: 'what each part of the core weighs',
  packing: 'what the modules weigh on their way, and what unpacking costs',
  lab: 'crowds, storms and the comparison of strategies in the module of the lab, and its longest slice',
  boundary: 'what a call into the wasm costs, and what text costs on top',
}

/** Asked for by name only, with options of their own. */
const alone = {
  compare: 'two builds side by side',
  drain: 'how long until 1,000 calls are through, where the server fails some or is away for a while',
  outage: 'what 1,000 callers get in ten seconds while a server goes away, beside other libraries',
  profile: 'self time and allocations of an attempt, by function',
  redis: 'tasks in Redis, beside BullMQ: speed, what it costs both processors, memory, end to end',
  service: 'redrive serve, beside an endpoint with BullMQ: POSTs, attempts, lateness, tenants, memory over time',
}

const OPTIONS = ['--full', '--smoke']
const words = process.argv.slice(2)
const single = words[0] in alone ? words[0] : undefined
const flags = words.filter((word) => word.startsWith('--'))
const asked = words.filter((word) => !word.startsWith('--'))
const unknown = [...asked.filter((name) => !(name in benches)), ...flags.filter((flag) => !OPTIONS.includes(flag))]
if (!single && unknown.length > 0) {
  console.error(
    `no such bench or option: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}, ${OPTIONS.join(' and ')},\n  or alone ${Object.keys(alone).join(', ')}`,
  )
  process.exit(2)
}

const processors = cpus()
const memory = `${Math.round(totalmem() / 2 ** 30)} GB`
console.log(
  `${processors.length} x ${processors[0]?.model.trim() ?? process.arch}, ${memory}, ${process.platform} ${release()}`,
)
console.log(
  `Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}${flags.map((flag) => `, ${flag}`).join('')}`,
)

async function run(name, about, args) {
  const file = fileURLToPath(new URL(`${name}.mjs`, import.meta.url))
  // a process each: what one bench leaves in the heap or teaches the compiler is not the next one's business
  const child = spawn(process.execPath, ['--expose-gc', file, ...args], { stdio: 'inherit' })
  const stopPassing = passOn(child)
  console.log(`\n## ${name}: ${about}\n`)
  const [code] = await once(child, 'exit')
  if (stopPassing()) process.exit(1)
  if (code !== 0) process.exitCode = 1
}

if (single) await run(single, alone[single], words.slice(1))
else for (const name of asked.length > 0 ? asked : Object.keys(benches)) await run(name, benches[name], flags)
