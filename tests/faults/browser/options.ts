/** What a run is asked for. */

import { choice, count, helpFor, minutes, read, seed, whole } from '../settings.ts'
import type { BrowserName } from './browser.ts'

/** What may be wrong on purpose, to see that the judge notices. */
export type Break = 'no-store' | 'no-limit' | 'no-key'
const BREAKS: readonly Break[] = ['no-store', 'no-limit', 'no-key']

export interface Options {
  readonly browser: BrowserName
  readonly seed: number
  readonly breaks: Break | undefined
  /** undefined: not asked for. */
  readonly killing: { readonly tasks: number; readonly kills: number } | undefined
  readonly tabbing: { readonly tabs: number; readonly seconds: number } | undefined
  /** Tabs that are crashed one by one, to see how soon others go on; 0: not asked for. */
  readonly takeovers: number
}

/** In flight over all tabs. */
export const CONCURRENCY = 4

const USUAL = {
  chromium: { kills: 12, tasks: 400, tabs: 4, seconds: 40, takeovers: 6 },
  // of its tabs none can be crashed
  firefox: { kills: 3, tasks: 100, tabs: 3, seconds: 20, takeovers: 0 },
} as const

const TABLE = {
  browser: choice('chromium', ['chromium', 'firefox'] satisfies BrowserName[], 'which is killed'),
  kills: count(undefined, [0, 100_000], "SIGKILLs to the browser's process group (default 12, Firefox 3)"),
  tasks: count(undefined, [4, 1_000_000], 'tasks meanwhile (default 400, Firefox 100)'),
  tabs: count(undefined, [2, 50], 'tabs that are crashed, closed, frozen, led away (default 4, Firefox 3)'),
  minutes: minutes(undefined, 'for how long (default 2/3, Firefox 1/3)'),
  takeovers: count(undefined, [0, 10_000], 'tabs that are crashed one by one (default 6; Chromium only)'),
  seed,
  break: choice(
    undefined,
    BREAKS,
    'tasks in memory only, said to be stored; a queue that asks for more than the server allows; a server that ignores keys. The kill run must fail then',
  ),
} as const

export const help: string = helpFor(
  'Kills browsers, and the tabs of one, that share one queue; the server and the store say what became of the tasks.\nWithout --kills, --tasks, --tabs, --minutes, --takeovers all runs are made, as small as `npm test` makes them; else those they\nbelong to.',
  'node tests/faults/browser/run.ts',
  TABLE,
)

export function readOptions(args: readonly string[]): Options | undefined {
  const given = read(args, TABLE)
  if (!given) return undefined
  const { browser, seed, kills, tasks, tabs, minutes: seconds, takeovers, break: breaks } = given
  const usual = USUAL[browser]
  const asked = [kills ?? tasks ?? breaks, tabs ?? seconds, takeovers].map((option) => option !== undefined)
  const [makesKills, makesTabs, makesTakeovers] = asked.map((isAsked) => isAsked || !asked.includes(true))
  if (browser === 'firefox') whole('takeovers', String(takeovers ?? 0), 0, 0)
  return {
    browser,
    seed,
    breaks,
    killing: makesKills ? { kills: kills ?? usual.kills, tasks: tasks ?? usual.tasks } : undefined,
    tabbing: makesTabs ? { tabs: tabs ?? usual.tabs, seconds: seconds ?? usual.seconds } : undefined,
    takeovers: makesTakeovers ? (takeovers ?? usual.takeovers) : 0,
  }
}
