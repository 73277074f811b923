/**
 * `node tests/faults/browser/run.ts`: a real browser that is killed, and tabs that are crashed, closed, led away and frozen,
 * on one queue, and a server that fails on top of it. Exit code 0 only if nothing was lost and nothing took effect twice.
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FaultOptions } from '../../servers/start.mjs'
import type { Check } from '../checks.ts'
import { CALM_FAULTS, FAULTS, framed } from '../frame.ts'
import { judge } from '../judge.ts'
import { conclude, main, speaker } from '../runner.ts'
import type { Start } from './browser.ts'
import { ofBrowsers } from './documents.ts'
import { gather, type Story } from './evidence.ts'
import type { RunOptions } from './feed.ts'
import { killRun } from './kill.ts'
import { CONCURRENCY, help, type Options, readOptions } from './options.ts'
import { tabRun } from './tabs.ts'
import { TAKEOVER_LIMIT, takeoverRun } from './takeover.ts'

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
  const said: string[] = []
  const broken: Check[] = []
  const next = async (what: string, tabs: number, faults: FaultOptions, run: (given: RunOptions) => Promise<Story>) => {
    say(`${browser}, seed ${seed}: ${what}`)
    broken.push(...(await inTurn(options, tabs, faults, run)))
    said.push(what)
  }
  if (killing) {
    const { kills, tasks } = killing
    await next(`${kills} kills, ${tasks} tasks`, KILLED_TABS, FAULTS, (given) => killRun({ ...given, kills, tasks }))
  }
  if (tabbing) {
    const { tabs, seconds } = tabbing
    // an answer that asks for a pause holds up all: what is handed over could not be measured
    const faults = { ...FAULTS, weights: { ...FAULTS.weights, unavailable_retry_after: 0 } }
    await next(`${tabs} tabs for ${Math.round(seconds)} s`, tabs, faults, (given) =>
      tabRun({ ...given, seconds, faults: { ...faults, seed } }),
    )
  }
  if (takeovers > 0) {
    const queue = { ...QUEUE, concurrency: TAKEOVER_LIMIT }
    await next(`${takeovers} takeovers`, TAKEOVER_TABS, CALM_FAULTS, (given) =>
      takeoverRun({ ...given, queue, takeovers }),
    )
  }
  const verdict = broken.length === 0 ? 'all of it holds' : `broken: ${broken.map(({ label }) => label).join(', ')}`
  process.stdout.write(`${browser}, ${said.join(', ')}, seed ${seed}${breaks ? `, ${breaks}` : ''}: ${verdict}\n`)
}

/** One run on a server and a profile of its own; what of it is broken. */
async function inTurn(
  { browser, seed, breaks }: Options,
  tabs: number,
  faults: FaultOptions,
  run: (given: RunOptions) => Promise<Story>,
): Promise<readonly Check[]> {
  const start: Start =
    browser === 'chromium' ? (await import('./chromium.ts')).startChromium : (await import('./firefox.ts')).startFirefox
  const mounts = { '/pkg/': here('../../../pkg'), '/pages/': here('pages') }
  const leaves = "The browser's profile is kept"
  return await framed({ name: 'browsers', faults, seed, breaks, mounts, leaves }, async (server, folder) => {
    const [profile, file] = [join(folder, 'profile'), join(folder, 'acknowledged')]
    const story = await run({ server, start, profile, file, tabs, queue: QUEUE, breaks, seed, say })
    try {
      const { facts, figures } = await gather(story, server)
      await story.fleet.end()
      return conclude(figures, [...judge(ofBrowsers(facts)), ...(story.checks ?? [])])
    } finally {
      await story.fleet.stop()
    }
  })
}

await main('browser faults', { help, read: readOptions }, run)
