/** `--help`, made of the tables. No line is longer than the terminal. */

import type { Command } from './command.ts'
import type { FlagRow } from './flag.ts'
import { GROUPS, rowsOf } from './flag.ts'
import { FLAGS } from './flags.ts'
import type { Io } from './io.ts'
import { type Paint, paintOf, paragraph, widthOf, wrap } from './terminal.ts'

/** Lines that are longer are hard to follow. */
const WIDEST = 110
/** Where the sentences about flags begin. */
const FLAG_COLUMN = 32
const COMMAND_COLUMN = 19
/** A space within a default, which is on one line. */
const FIXED = '\u00a0'
/** Less is left for a sentence on a narrow terminal: there it gets lines of its own. */
const LEAST_ROOM = 30

const SERVE: Pick<Command, 'name' | 'summary'> = { name: 'serve', summary: 'Runs the service; also without a command' }

const GENERAL: readonly FlagRow[] = [
  row('-h, --help', 'This text; after a command, that of the command'),
  row('-v, --version', 'The version'),
]

function row(flag: string, help: string): FlagRow {
  return { group: '', flag, placeholder: '', env: undefined, key: undefined, default: '', help }
}

/** The help of the program: its commands, and the flags of `serve`. */
export function programHelp(commands: readonly Command[], io: Io): string {
  const { paint, width } = sheet(io)
  const list = [SERVE, ...commands].map(({ name, summary }) => entry(name, summary, COMMAND_COLUMN, width, paint))
  const groups = GROUPS.map((group) => {
    const rows = rowsOf(FLAGS).filter((each) => each.group === group)
    return section(
      group,
      rows.map((each) => flagEntry(each, width, paint)),
      paint,
    )
  })
  return [
    paragraph(`${paint('bold', 'redrive')} sends HTTP requests again until they have arrived.`, width),
    section('Usage', ['  redrive [serve] [flags]', '  redrive COMMAND [words] [flags]'], paint),
    section('Commands', list, paint),
    paint('bold', 'Flags of serve'),
    paragraph(
      'Each can also be set in the environment, as REDRIVE_ and its name in capitals (--max-body is REDRIVE_MAX_BODY), and in redrive.config.json (maxBody). A flag goes before the environment, and that before the file. D is a duration: 250ms, 12.5s, 3m, 1h, 2d. BYTES are 1000, 64KiB, 1MB or 4GiB. A list has commas, or the flag several times.',
      width,
    ),
    ...groups,
    section(
      'General',
      GENERAL.map((each) => flagEntry(each, width, paint)),
      paint,
    ),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n')
}

export function commandHelp(command: Command, io: Io): string {
  const { paint, width } = sheet(io)
  const rows = rowsOf(command.flags)
  const usage = `  redrive ${command.name}${command.takes ? ` ${command.takes}` : ''}${rows.length ? ' [flags]' : ''}`
  const examples = command.examples?.map((line) => `  ${line}`) ?? []
  return [
    paragraph(`${paint('bold', `redrive ${command.name}`)}: ${command.summary}.`, width),
    section('Usage', [usage], paint),
    rows.length > 0 &&
      section(
        'Flags',
        rows.map((each) => flagEntry(each, width, paint)),
        paint,
      ),
    examples.length > 0 && section('Examples', examples, paint),
  ]
    .filter((part) => typeof part === 'string')
    .join('\n\n')
    .concat('\n')
}

/** The help of commands that begin with one word. */
export function groupHelp(commands: readonly Command[], io: Io): string {
  const { paint, width } = sheet(io)
  const list = commands.map(({ name, summary }) => entry(name, summary, COMMAND_COLUMN, width, paint))
  return `${section('Commands', list, paint)}\n\n${paragraph('redrive help COMMAND says more about each.', width)}\n`
}

const sheet = (io: Io) => ({ paint: paintOf(io), width: Math.min(WIDEST, widthOf(io)) })

const section = (title: string, lines: readonly string[], paint: Paint): string =>
  [paint('bold', title), ...lines].join('\n')

function flagEntry({ flag, placeholder, default: standard, help }: FlagRow, width: number, paint: Paint): string {
  const name = `${flag}${placeholder && ` ${placeholder}`}`
  const shown = standard && standard !== 'off' && standard !== 'none' ? ` [${standard.replaceAll(' ', FIXED)}]` : ''
  return entry(name, `${help}${shown}`, FLAG_COLUMN, width, paint)
}

/** A name, and beside it what it does; below it where there is no room beside. */
function entry(name: string, text: string, column: number, width: number, paint: Paint): string {
  const isNarrow = width - column < LEAST_ROOM
  const indent = isNarrow ? 6 : column
  const lines = wrap(text, width - indent).map((line) => ' '.repeat(indent) + line.replaceAll(FIXED, ' '))
  const head = `  ${name}`
  if (isNarrow || head.length + 2 > column) return [paint('cyan', head), ...lines].map(dimmed(paint)).join('\n')
  const [first = '', ...rest] = lines
  return [paint('cyan', head.padEnd(column)) + first.slice(column), ...rest].map(dimmed(paint)).join('\n')
}

/** Defaults step back. */
const dimmed =
  (paint: Paint) =>
  (line: string): string =>
    line.replace(/\[[^[\]]*\]$/, (found) => paint('dim', found))
