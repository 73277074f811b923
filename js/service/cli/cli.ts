/** The command line: finds the command, runs it, and says in one line what went wrong. */

import { harmless } from 'redrive/internal'
import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { commandHelp, groupHelp, programHelp } from './help.ts'
import { CommandError, type Io, say, UsageError } from './io.ts'
import { suggestion } from './nearest.ts'
import { sortWords } from './read-flags.ts'
import type { Serve } from './serving.ts'
import { readSettings, warningsOf } from './settings.ts'
import { paragraph, widthOf } from './terminal.ts'

/** Runs one command line. Resolves with the exit code: 0, 1 where it failed, 2 where it was not understood. `serve` starts the service. */
export async function main(io: Io, serve: Serve): Promise<number> {
  try {
    return await run(io, serve)
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandError)) throw error
    // it may quote a file, a server, or words that were pasted
    complain(io, harmless(error.message))
    return error.exitCode
  }
}

/** One line, which a terminal gets in parts: it would break words. */
function complain({ stderr, errorColumns }: Io, message: string): void {
  const line = `redrive: ${message}`
  stderr.write(`${errorColumns === undefined ? line : paragraph(line, widthOf({ columns: errorColumns }), 2)}\n`)
}

async function run(io: Io, serve: Serve): Promise<number> {
  const { command, rest, isHelp } = parted(io.argv)
  if (Array.isArray(command)) {
    say(io, groupHelp(command, io).trimEnd())
    return 0
  }
  if (command !== 'serve') {
    if (isHelp) say(io, commandHelp(command, io).trimEnd())
    return isHelp ? 0 : command.run(sortWords(rest, command.flags, `redrive ${command.name}`), io)
  }
  if (isHelp) {
    io.stdout.write(programHelp(COMMANDS, io))
    return 0
  }
  if (rest.some((word) => word === '--version' || word === '-v')) {
    say(io, io.version ?? 'unknown')
    return 0
  }
  const own = { ...io, argv: rest }
  const settings = await readSettings(own)
  for (const warning of warningsOf(io.env)) complain(io, warning)
  return serve(settings, { io, reread: () => readSettings(own) })
}

interface Parted {
  /** Several: help was asked for the first word of them. */
  readonly command: Command | Command[] | 'serve'
  /** The words after its name. */
  readonly rest: readonly string[]
  readonly isHelp: boolean
}

const isHelpWord = (word: string): boolean => word === '--help' || word === '-h'

function parted(argv: readonly string[]): Parted {
  const before = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length)
  const asks = argv[0] === 'help'
  const words = asks ? argv.slice(1) : argv
  const isHelp = asks || before.some(isHelpWord)
  const [first] = words
  if (first === undefined || first.startsWith('-')) return { command: 'serve', rest: words, isHelp }
  if (first === 'serve') return { command: 'serve', rest: words.slice(1), isHelp }
  const command = COMMANDS.find(({ name }) => name.split(' ').every((word, i) => word === words[i]))
  if (command) return { command, rest: words.slice(command.name.split(' ').length), isHelp }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
  if (isHelp && group.length > 0) return { command: group, rest: [], isHelp }
  throw new UsageError(unknown(words))
}

/** Says which command was meant, or how one that has parts goes on. */
function unknown([first = '', second]: readonly string[]): string {
  const parts = COMMANDS.map(({ name }) => name.split(' '))
  const ends = parts.filter(([start, end]) => start === first && end !== undefined).map(([, end]) => end ?? '')
  if (ends.length === 0) {
    const starts = [...new Set(['serve', 'help', ...parts.map(([start = '']) => start)])]
    return `'${first}' is no command; ${suggestion(first, starts)}`
  }
  if (second === undefined || second.startsWith('-'))
    return `${first} what? there are ${first} ${ends.join(`, ${first} `)}`
  return `'${first} ${second}' is no command; ${suggestion(second, ends, `${first} `)}`
}
