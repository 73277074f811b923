/** `redrive plan`: the waits of a policy before it is used, as a table, as plots and as JSON, and what it may do to a server. */

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { presets } from 'redrive'
import type { RetryPolicy } from 'redrive/core'
import { type BackgroundPolicy, backgroundOf, duration, harmless, isOfCurve, loadCore, plural } from 'redrive/internal'
import type { Command } from './command.ts'
import { parsed } from './config-file.ts'
import { type DefaultFlags, named } from './defaults.ts'
import { type FlagTable, own } from './flag.ts'
import type { FlagValues } from './flag-values.ts'
import { FLAGS } from './flags.ts'
import { CommandError, type Io, printJson, reasonOf, UsageError } from './io.ts'
import * as kinds from './kinds.ts'
import { CROWD_RETRIES, type Plan, planOf, warningsOf } from './plan-numbers.ts'
import { crowdPlot, scheduleTable } from './plan-plot.ts'
import { planSvg } from './plan-svg.ts'
import { readFlags, type Words } from './read-flags.ts'
import { policyOf } from './records.ts'
import { settingsOf } from './settings.ts'
import { paintOf, paragraph, widthOf } from './terminal.ts'

/** More are shown only where they are asked for. */
const RETRIES_SHOWN = 25

interface PlanFlags extends DefaultFlags, Pick<FlagValues, 'policies' | 'config'> {
  readonly preset: string | undefined
  readonly policy: string | undefined
  readonly retries: number | undefined
  readonly tasks: number
  readonly svg: string | undefined
  readonly json: boolean
}

const TABLE: FlagTable<PlanFlags> = {
  preset: {
    ...own,
    kind: kinds.text('the name of a preset', { placeholder: 'NAME' }),
    help: `A published schedule: ${Object.keys(presets).join(', ')}`,
  },
  policy: { ...own, kind: kinds.file, help: 'JSON file with one policy' },
  retries: {
    ...own,
    kind: kinds.whole(0, 1_000),
    unless: `the policy's, ${RETRIES_SHOWN} of them`,
    help: 'Retries, in place of the number that the policy has',
  },
  tasks: {
    ...own,
    kind: kinds.whole(1, 1_000),
    default: 100,
    help: 'Tasks that fail at the same moment, for the dots',
  },
  svg: { ...own, kind: kinds.file, help: 'Writes the plots into this file' },
  json: { ...own, kind: kinds.toggle, default: false, help: 'Prints the numbers as JSON, in milliseconds' },
  defaultPolicy: FLAGS.defaultPolicy,
  defaultRetryLimit: FLAGS.defaultRetryLimit,
  defaultBackoffBase: FLAGS.defaultBackoffBase,
  defaultBackoffExponent: FLAGS.defaultBackoffExponent,
  defaultBackoffJitter: FLAGS.defaultBackoffJitter,
  policies: FLAGS.policies,
  config: FLAGS.config,
}

export const planCommand: Command = {
  name: 'plan',
  summary: 'Shows the waits of a policy: of the default one, a preset, or a file',
  flags: TABLE,
  examples: [
    'redrive plan --preset zizq',
    'redrive plan --policy invoices.json --retries 12 --svg invoices.svg',
    'redrive plan --default-backoff-base 15s --default-backoff-exponent 4 --default-backoff-jitter 30s',
  ],
  async run(words, io) {
    const [strange] = words.positionals
    if (strange !== undefined) throw new UsageError(`plan: unexpected '${strange}'; write --preset ${strange}`)
    const core = await loadCore()
    // those of the defaults are read with the settings, or not at all
    const {
      preset,
      policy: file,
      retries,
      tasks,
      svg,
      json,
    } = readFlags(
      {
        preset: TABLE.preset,
        policy: TABLE.policy,
        retries: TABLE.retries,
        tasks: TABLE.tasks,
        svg: TABLE.svg,
        json: TABLE.json,
      },
      { words, env: io.env, tools: core },
    ).values as PlanFlags
    const given = await chosen({ preset, file }, words, io)
    const policy = backgroundOf({ given })
    const count = retries ?? Math.min(policy.maxAttempts - 1, RETRIES_SHOWN)
    const plan = planOf(core, policy, count, tasks)
    if (svg !== undefined) write(resolve(io.cwd, svg), svg, planSvg(plan, headingOf(policy, given)))
    if (json) printJson(io, jsonOf(plan))
    else io.stdout.write(textOf(plan, given, retries, io))
    if (svg !== undefined && !json) io.stdout.write(`\n${paintOf(io)('dim', `The plots are in ${svg}.`)}\n`)
    return 0
  },
}

interface Choice {
  readonly preset: string | undefined
  readonly file: string | undefined
}

async function chosen({ preset, file }: Choice, words: Words, io: Io): Promise<RetryPolicy> {
  const others = [...words.flags.keys()].filter((key) => key.startsWith('default'))
  const ways = [
    preset !== undefined && '--preset',
    file !== undefined && '--policy',
    others.length > 0 && '--default-*',
  ]
  const named = ways.filter((way) => way !== false)
  if (named.length > 1) throw new UsageError(`${named.join(' and ')} exclude each other: each chooses the policy`)
  if (preset !== undefined) return presetOf(preset)
  if (file === undefined) return (await settingsOf(words, io)).defaultPolicy
  if (Object.hasOwn(presets, file)) throw new UsageError(`--policy: expected a file; write --preset ${file}`)
  const policy = parsed(resolve(io.cwd, file), file)
  if (Array.isArray(policy)) {
    throw new UsageError(`--policy: ${file} has a list; write --policies ${file} --default-policy NAME for one of it`)
  }
  return { policyId: file, ...policyOf(policy, file) }
}

function presetOf(name: string): RetryPolicy {
  if (name === 'default')
    throw new UsageError('--preset: default is no preset; redrive plan without it shows that policy')
  return named(name, [], '--preset')
}

function write(path: string, name: string, content: string): void {
  try {
    writeFileSync(path, content)
  } catch (error) {
    throw new CommandError(`--svg: ${name} cannot be written (${reasonOf(error)})`)
  }
}

/** The curve in the words of a policy. */
function headingOf(policy: BackgroundPolicy, given: RetryPolicy): string {
  const fields = Object.entries(given).filter(([name]) => name !== 'strategy' && isOfCurve(name))
  const shown = fields.map(([name, value]) => {
    if (Array.isArray(value)) return `${name} ${plural(value.length, 'wait')}`
    return `${name} ${typeof value === 'number' && name.endsWith('Ms') ? duration(value) : value}`
  })
  return `${policy.strategy}${shown.length > 0 ? `, ${shown.join(', ')}` : ''}`
}

/** The answer of POST /plan, and the numbers behind the plots. */
function jsonOf(plan: Plan): object {
  const { policy, schedule, tasks, idleShare, longestGapMs, pileUp } = plan
  return {
    policy,
    schedule: schedule.map(({ attempt, ...rest }) => ({ retry: attempt, ...rest })),
    longestMs: schedule.at(-1)?.totalMaxMs ?? 0,
    crowd: {
      tasks,
      retries: Math.min(schedule.length, CROWD_RETRIES),
      idleShare,
      longestGapMs,
      pileUp: pileUp ?? null,
    },
    warnings: warningsOf(plan),
  }
}

function textOf(plan: Plan, given: RetryPolicy, asked: number | undefined, io: Io): string {
  const paint = paintOf(io)
  const width = widthOf(io)
  const { policy, schedule, tasks } = plan
  const has = policy.maxAttempts - 1
  const count = schedule.length
  const budget = duration(policy.totalBudgetMs ?? policy.keyTtlMs)
  const more = asked === undefined && has > count ? `; --retries shows more` : ''
  const limit =
    has >= 999_999
      ? `as many retries as there is time for in ${budget}${more}`
      : `${plural(has, 'retry', 'retries')}${more}`
  const heading = paragraph(`${harmless(policy.policyId)}: ${harmless(headingOf(policy, given))}; ${limit}`, width)
  const title = heading.replace(/^[^:]*/, (name) => paint('bold', name))
  if (count === 0) return `${title}\n\nA task is sent once, and not again.\n`
  const shown = Math.min(count, CROWD_RETRIES)
  const retries = shown === 1 ? 'Retry 1' : `Retries 1 to ${shown}`
  const crowd = `${retries} of ${plural(tasks, 'task')} that ${tasks === 1 ? 'fails' : 'fail at the same moment'}, over time`
  const warnings = warningsOf(plan).map((text) => {
    const line = paragraph(`! ${text}`, width, 2)
    return line.replace(/^! [^:]*:/, (head) => paint('yellow', head))
  })
  return `${[
    title,
    scheduleTable(schedule, width, paint),
    `${paint('bold', paragraph(crowd, width))}\n${crowdPlot(plan, width, paint)}`,
    warnings.join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n')}\n`
}
