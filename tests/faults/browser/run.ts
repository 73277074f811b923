/**
 * `node tests/faults/browser/run.ts`: a real browser that is killed, and tabs that are crashed, closed, led away and frozen,
 * on one queue, and a server that fails on top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type FaultOptions, type FlakyServer, startFlaky } from '../../servers/start.mjs'
import type { Check } from '../checks.ts'
import { judge } from '../judge.ts'
import { conclude, main, speaker } from '../runner.ts'
import type { Start } from './browser.ts'
import { ofBrowsers } from './documents.ts'
import { gather, type Story } from './evidence.ts'
import type { FleetOptions } from './fleet.ts'
import { killRun } from './kill.ts'
import { CONCURRENCY, help, type Options, readOptions } from './options.ts'
import { tabRun } from './tabs.ts'
import { TAKEOVER_FAULTS, TAKEOVER_LIMIT, takeoverRun } from './takeover.ts'

const FAULTS: FaultOptions = {
  share: 0.3,
  weights: { unavailable: 20, unavailable_retry_after: 1, too_many_requests: 0, reset_before: 8, reset_after: 12 },
  latencyMs: [10, 90],
  slowShare: 0.03,
  slowMs: 500,
}
const KILLED_TABS = 2
const TAKEOVER_TABS = 3

const QUEUE = {
  name: 'faults',
  durable: true,
  principal: 'u1',
  concurrency: CONCURRENCY,
  capacity: 1_000_000,
  // nothing may be forgotten before it is judged
  retention: { maxTerminal: 1_000_000, maxDeadLetters: 1_000_000 },
  // a crash costs an attempt, and here there are many
  policy: { maxAttempts: 60, initialDelayMs: 100, maxDelayMs: 400, attemptTimeoutMs: 10_000 },
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const say = speaker()

async function run(options: Options): Promise<void> {
  const { browser, seed, killing, tabbing, takeovers, breaks } = options
  const start: Start =
    browser === 'chromium' ? (await import('./chromium.ts')).startChromium : (await import('./firefox.ts')).startFirefox
  const said: string[] = []
  let broken: readonly Check[] = []
  if (killing) {
    const { kills, tasks } = killing
    const what = `${kills} kills, ${tasks} tasks`
    say(`${browser}, seed ${seed}: ${what}`)
    broken = await inTurn(options, start, KILLED_TABS, FAULTS, (given, folder) =>
      killRun({ ...given, kills, tasks, seed, file: join(folder, 'acknowledged'), say }),
    )
    said.push(what)
  }
  if (tabbing) {
    const { tabs, seconds } = tabbing
    const what = `${tabs} tabs for ${Math.round(seconds)} s`
    say(`${browser}, seed ${seed}: ${what}`)
    // an answer that asks for a pause holds up all: what is handed over could not be measured
    const faults = { ...FAULTS, weights: { ...FAULTS.weights, unavailable_retry_after: 0 } }
    const found = await inTurn(options, start, tabs, faults, (given, folder) =>
      tabRun({ ...given, seconds, seed, faults: { ...faults, seed }, file: join(folder, 'acknowledged'), say }),
    )
    broken = [...broken, ...found]
    said.push(what)
  }
  if (takeovers > 0) {
    const what = `${takeovers} takeovers`
    say(`${browser}, seed ${seed}: ${what}`)
    const found = await inTurn(options, start, TAKEOVER_TABS, TAKEOVER_FAULTS, (given, folder) => {
      const queue = { ...QUEUE, concurrency: TAKEOVER_LIMIT }
      return takeoverRun({ ...given, queue, takeovers, seed, file: join(folder, 'acknowledged'), say })
    })
    broken = [...broken, ...found]
    said.push(what)
  }
  const verdict = broken.length === 0 ? 'all of it holds' : `broken: ${broken.map(({ label }) => label).join(', ')}`
  process.stdout.write(`${browser}, ${said.join(', ')}, seed ${seed}${breaks ? `, ${breaks}` : ''}: ${verdict}\n`)
}

/** One run on a server and a profile of its own; what of it is broken. */
async function inTurn(
  { seed, breaks }: Options,
  start: Start,
  tabs: number,
  faults: FaultOptions,
  run: (given: FleetOptions, folder: string) => Promise<Story & { readonly checks?: readonly Check[] }>,
): Promise<readonly Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-browsers-'))
  const mounts = { '/pkg/': here('../../../pkg'), '/pages/': here('pages') }
  const server: FlakyServer = await startFlaky({
    faults: { ...faults, seed },
    mounts,
    honoursKeys: breaks !== 'no-key',
  })
  const given = { server, start, profile: join(folder, 'profile'), tabs, queue: QUEUE, breaks }
  let isKept = false
  try {
    const story = await run(given, folder)
    try {
      const { facts, figures } = await gather(story, server)
      await story.fleet.end()
      const broken = conclude(figures, [...judge(ofBrowsers(facts)), ...(story.checks ?? [])])
      // a run that was not broken on purpose leaves what the browser had on its disk
      isKept = broken.length > 0 && !breaks
      if (isKept) process.stdout.write(`The browser's profile is kept: ${folder}\n`)
      return broken
    } finally {
      await story.fleet.stop()
    }
  } finally {
    await server.close()
    if (!isKept) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main('browser faults', { help, read: readOptions }, run)
