/** What a run is asked for. */

import { parseArgs } from 'node:util'
import { whole } from '../options.ts'
import type { BrowserName } from './browser.ts'

/** What may be wrong on purpose, to see that the judge notices. */
export const BREAKS = ['no-store', 'no-limit', 'no-key'] as const
export type Break = (typeof BREAKS)[number]

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

export const help = `Kills browsers, and the tabs of one, that share one queue; the server and the store say what became of the tasks.

  node tests/faults/browser/run.ts [options]

Without --kills, --tasks, --tabs, --minutes, --takeovers all runs are made, as small as \`npm test\` makes them; else those they
belong to.

  --browser X  chromium or firefox                               (default chromium)
  --kills N    SIGKILLs to the browser's process group           (default 12, Firefox 3)
  --tasks N    how many tasks meanwhile                          (default 400, Firefox 100)
  --tabs N     tabs that are crashed, closed, frozen, led away   (default 4, Firefox 3)
  --minutes N  for how long                                      (default 2/3, Firefox 1/3)
  --takeovers N  tabs that are crashed one by one, to measure how soon others go on (default 6; Chromium only)
  --seed N     which faults the server makes, who is struck when (default 1)
  --break X    no-store: tasks in memory only, said to be stored; no-limit: a queue that asks for more than the server
               allows; no-key: a server that ignores keys. The kill run must fail then
  --help       this text
`

/** undefined: only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      browser: { ...text, default: 'chromium' },
      kills: text,
      tasks: text,
      tabs: text,
      minutes: text,
      takeovers: text,
      seed: { ...text, default: '1' },
      break: text,
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { browser, kills, tasks, tabs, minutes, takeovers } = values
  if (browser !== 'chromium' && browser !== 'firefox') {
    throw new RangeError(`--browser: expected chromium or firefox, got '${browser}'`)
  }
  const breaks = BREAKS.find((name) => name === values.break)
  if (values.break !== undefined && !breaks) {
    throw new RangeError(`--break: expected ${BREAKS.join(', ')}, got '${values.break}'`)
  }
  const usual = USUAL[browser]
  const asked = [kills ?? tasks ?? breaks, tabs ?? minutes, takeovers].map((option) => option !== undefined)
  const [makesKills, makesTabs, makesTakeovers] = asked.map((isAsked) => isAsked || !asked.includes(true))
  return {
    browser,
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    breaks,
    killing: makesKills
      ? {
          kills: whole('kills', kills ?? String(usual.kills), 0, 100_000),
          tasks: whole('tasks', tasks ?? String(usual.tasks), 4, 1_000_000),
        }
      : undefined,
    tabbing: makesTabs
      ? {
          tabs: whole('tabs', tabs ?? String(usual.tabs), 2, 50),
          seconds: minutes === undefined ? usual.seconds : number('minutes', minutes) * 60,
        }
      : undefined,
    takeovers: makesTakeovers
      ? whole('takeovers', takeovers ?? String(usual.takeovers), 0, browser === 'firefox' ? 0 : 10_000)
      : 0,
  }
}

function number(name: string, text: string): number {
  const value = Number(text)
  if (text !== '' && value > 0 && value <= 10_000) return value
  throw new RangeError(`--${name}: expected a number above 0, got '${text}'`)
}
