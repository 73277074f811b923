/**
 * `redrive doctor`: what is unsafe about the store that the service would use. It writes nothing: Redis is asked by commands that only
 * read, and a SQLite file is opened for reading.
 */

import { resolve } from 'node:path'
import { harmless, loadCore } from 'redrive/internal'
import type { Command } from './command.ts'
import type { Finding, Limits } from './findings.ts'
import { type FlagTable, own } from './flag.ts'
import type { FlagValues } from './flag-values.ts'
import { FLAGS } from './flags.ts'
import { type Io, printJson, say, UsageError } from './io.ts'
import * as kinds from './kinds.ts'
import { readFlags } from './read-flags.ts'
import { configOf } from './settings.ts'
import { type Paint, paintOf, widthOf, wrap } from './terminal.ts'

type DoctorFlags = Pick<FlagValues, 'store' | 'name' | 'capacity' | 'capacityBytes' | 'config'> & {
  readonly json: boolean
}

const TABLE: FlagTable<DoctorFlags> = {
  store: FLAGS.store,
  name: FLAGS.name,
  capacity: FLAGS.capacity,
  capacityBytes: FLAGS.capacityBytes,
  config: FLAGS.config,
  json: { ...own, kind: kinds.toggle, default: false, help: 'Prints the findings as JSON' },
}

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Says what is unsafe about the store; exit code 1 if tasks may be lost',
  flags: TABLE,
  examples: ['redrive doctor --store redis://127.0.0.1:6379/0'],
  async run(words, io) {
    const [strange] = words.positionals
    if (strange !== undefined) throw new UsageError(`doctor: unexpected '${strange}'; write --store ${strange}`)
    const file = await configOf(words, io)
    const flags = readFlags(TABLE, { words, env: io.env, file, tools: await loadCore() }).values
    const findings = await findingsOf(flags, io.cwd)
    const isUnsafe = findings.some(({ level }) => level === 'unsafe')
    if (flags.json) printJson(io, { ok: !isUnsafe, findings })
    else print(findings, io)
    return isUnsafe ? 1 : 0
  },
}

async function findingsOf(
  { store, name, capacity, capacityBytes }: DoctorFlags,
  cwd: string,
): Promise<readonly Finding[]> {
  const limits: Limits = { capacity, capacityBytes }
  // their clients and stores are no part of any other command
  if (store.startsWith('sqlite:')) {
    const { checkSqlite } = await import('./doctor-sqlite.ts')
    return checkSqlite(resolve(cwd, store.slice('sqlite:'.length)), limits)
  }
  if (store !== 'memory:') {
    const { checkRedis } = await import('./doctor-redis.ts')
    return checkRedis(store, name, limits)
  }
  return [
    {
      level: 'unsafe',
      about: 'durability',
      text: 'memory: keeps nothing, so all tasks are lost when the process ends; give --store sqlite:PATH or redis://…',
    },
  ]
}

const MARKS = { ok: ['ok', 'green'], note: ['--', 'dim'], warning: ['warn', 'yellow'], unsafe: ['BAD', 'red'] } as const
const MARK_WIDTH = 4

function print(findings: readonly Finding[], io: Io): void {
  const paint: Paint = paintOf(io)
  const subject = Math.max(...findings.map(({ about }) => about.length))
  const indent = MARK_WIDTH + subject + 4
  for (const { level, about, text } of findings) {
    const [mark, style] = MARKS[level]
    const lines = wrap(harmless(text), Math.max(30, widthOf(io) - indent))
    const head = `${paint(style, mark.padEnd(MARK_WIDTH))}  ${about.padEnd(subject)}  `
    say(io, head + lines.join(`\n${' '.repeat(indent)}`))
  }
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  const [unsafe, warnings] = [count('unsafe'), count('warning')]
  const sum =
    unsafe > 0
      ? `${unsafe} unsafe: tasks may be lost.`
      : warnings > 0
        ? 'Nothing unsafe; see the warnings.'
        : 'Nothing unsafe was found.'
  say(io, `\n${paint('bold', sum)}`)
}
