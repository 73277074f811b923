/** `redrive dead …`: dead letters of a running service, over HTTP. */

import { grouped, plural, systemClock } from 'redrive/internal'
import { CLIENT_FLAGS, Client, type ClientFlags, clientFlags, noWords, taskWord } from './client.ts'
import type { Command } from './command.ts'
import { type FlagTable, own } from './flag.ts'
import { CommandError, harmlessJson, type Io, printJson, say, UsageError } from './io.ts'
import * as kinds from './kinds.ts'
import type { Words } from './read-flags.ts'
import { deadTable, factsOf, fieldsOf, sheetOf } from './show.ts'
import { LIST_FLAGS, type ListFlags, printList, queryOf } from './task-commands.ts'

const when = kinds.moment(() => systemClock.now())
const reason = {
  ...own,
  kind: kinds.text('a reason such as max_attempts', { placeholder: 'REASON', ok: (text) => /^[a-z_]+$/.test(text) }),
  help: 'Only those that ended for this reason, such as max_attempts',
} as const

interface DeadListFlags extends ListFlags {
  readonly reason: string | undefined
}
const DEAD_LIST_FLAGS: FlagTable<DeadListFlags> = { reason, ...LIST_FLAGS }

const list: Command = {
  name: 'dead list',
  summary: 'Lists dead letters',
  flags: DEAD_LIST_FLAGS,
  async run(words, io) {
    noWords(words, 'dead list')
    const flags = await clientFlags(DEAD_LIST_FLAGS, words, io)
    const { json } = await new Client(flags).call('GET', '/dead-letters', {
      query: { reason: flags.reason, ...queryOf(flags) },
    })
    printList(io, { json, flags, show: (tasks) => deadTable(tasks, sheetOf(io)) })
    return 0
  },
}

interface FilterFlags extends ClientFlags {
  readonly origin: string | undefined
  readonly policy: string | undefined
  readonly reason: string | undefined
  readonly endedAfter: number | undefined
  readonly endedBefore: number | undefined
  readonly all: boolean
}
const FILTER_FLAGS: FlagTable<FilterFlags> = {
  origin: LIST_FLAGS.origin,
  policy: LIST_FLAGS.policy,
  reason,
  endedAfter: { ...own, kind: when, help: 'Only those that ended after this: a date, epoch ms, or how long ago (2h)' },
  endedBefore: { ...own, kind: when, help: 'Only those that ended before this' },
  all: { ...own, kind: kinds.toggle, default: false, help: 'All dead letters' },
  ...CLIENT_FLAGS,
}

type Filter = Readonly<Record<string, string | number>>

function givenIn({ origin, policy, reason, endedAfter, endedBefore }: FilterFlags): [string, string | number][] {
  const given = { origin, policyId: policy, reason, endedAfter, endedBefore }
  return Object.entries(given).filter((pair): pair is [string, string | number] => pair[1] !== undefined)
}

/** The filter that was given, which `--all` alone may leave empty. */
function filterOf(name: string, flags: FilterFlags): Filter {
  const { all } = flags
  const filter = givenIn(flags)
  if (filter.length === 0 && !all) {
    throw new UsageError(`${name}: which? expected a task id, a filter such as --origin or --reason, or --all`)
  }
  if (filter.length > 0 && all) throw new UsageError(`${name}: --all and a filter exclude each other`)
  return Object.fromEntries(filter)
}

/** The task that was named in place of a filter. undefined: none was. */
function taskOf(words: Words, name: string, flags: FilterFlags): string | undefined {
  if (words.positionals.length === 0) return undefined
  if (flags.all || givenIn(flags).length > 0) throw new UsageError(`${name}: a task and a filter exclude each other`)
  return taskWord(words, name)
}

/** Between two looks at an operation: each is twice as long as the one before. */
const [FIRST_LOOK_MS, LOOK_MS] = [50, 1_000]

const numberIn = (fields: Readonly<Record<string, unknown>>, name: string): number => Number(fields[name] ?? 0)

/** Shows on stderr how far an operation has come until it has ended: as one line of a terminal, or in a log as a line for each tenth. */
async function follow(begun: unknown, client: Client, { json }: ClientFlags, io: Io): Promise<number> {
  let now = fieldsOf(begun)
  const { operationId, kind } = now
  const total = numberIn(now, 'total')
  const isTerminal = io.errorColumns !== undefined
  io.stderr.write(`Operation ${operationId} goes on in the service, even if this command is ended.\n`)
  let shown = 0
  try {
    for (let waitMs = FIRST_LOOK_MS; now.status === 'RUNNING' || now.status === 'STOPPING'; waitMs *= 2) {
      await new Promise<void>((resolve) => systemClock.after(Math.min(waitMs, LOOK_MS), resolve))
      now = fieldsOf((await client.call('GET', `/operations/${operationId}`)).json)
      const done = numberIn(now, 'done')
      if (!isTerminal && done - shown < total / 10) continue
      shown = done
      io.stderr.write(
        `${isTerminal ? '\r' : ''}${grouped(done)} of ${plural(total, 'dead letter')}${isTerminal ? '' : '\n'}`,
      )
    }
  } finally {
    // what is said next, an error too, has a line of its own
    if (isTerminal && shown > 0) io.stderr.write('\n')
  }
  const [done, skipped] = [numberIn(now, 'done'), numberIn(now, 'skipped')]
  if (json) printJson(io, now)
  else {
    say(io, `${plural(done - skipped, 'dead letter')} ${kind === 'purge' ? 'deleted' : 'put back'}.`)
    if (skipped > 0)
      say(
        io,
        `${plural(skipped, 'dead letter')} left: a target may have forgotten the key, the end is still to be reported, or there is no room for callbacks.`,
      )
  }
  if (now.status === 'DONE') return 0
  throw new CommandError(
    `operation ${operationId} was stopped, ${plural(numberIn(now, 'remaining'), 'dead letter')} before its end`,
  )
}

interface RedriveFlags extends FilterFlags {
  readonly perSecond: number | undefined
  readonly acceptDuplicateRisk: boolean
}
const REDRIVE_FLAGS: FlagTable<RedriveFlags> = {
  ...FILTER_FLAGS,
  perSecond: { ...own, kind: kinds.fraction(0.01, 1_000), help: 'Redrives so many a second, and not all at once' },
  acceptDuplicateRisk: {
    ...own,
    kind: kinds.toggle,
    default: false,
    help: 'Also those whose key the target may have forgotten: it may then do the work twice',
  },
}

function sayRedriven(json: unknown, io: Io): void {
  const { outcome, ...task } = fieldsOf(json)
  const isRepeat = outcome === 'redriven_before'
  say(io, isRepeat ? 'It was redriven before; nothing was changed.\n' : 'It is redriven.\n')
  say(io, factsOf(task, sheetOf(io)))
}

const redrive: Command = {
  name: 'dead redrive',
  summary: 'Sends a dead letter again, or all that fit a filter',
  takes: '[TASK]',
  flags: REDRIVE_FLAGS,
  examples: ['redrive dead redrive --reason max_attempts --origin https://api.example.com --per-second 10'],
  async run(words, io) {
    const flags = await clientFlags(REDRIVE_FLAGS, words, io)
    const client = new Client(flags)
    const risk = flags.acceptDuplicateRisk ? { acceptDuplicateRisk: true } : {}
    const task = taskOf(words, 'dead redrive', flags)
    if (task !== undefined) {
      const { json } = await client.callTask('POST', '/dead-letters', task, '/redrive', { json: risk })
      if (flags.json) printJson(io, json)
      else sayRedriven(json, io)
      return 0
    }
    const filter = filterOf('dead redrive', flags)
    const pace = flags.perSecond === undefined ? {} : { perSecond: flags.perSecond }
    const { json } = await client.call('POST', '/dead-letters/redrive', { json: { filter, ...pace, ...risk } })
    return follow(json, client, flags, io)
  },
}

interface PurgeFlags extends FilterFlags {
  readonly confirm: number | undefined
}
const PURGE_FLAGS: FlagTable<PurgeFlags> = {
  ...FILTER_FLAGS,
  confirm: {
    ...own,
    kind: kinds.whole(0, 1_000_000),
    help: 'How many they are; with another number nothing is deleted. Needed, but for a single one',
  },
}

const purge: Command = {
  name: 'dead purge',
  summary: 'Deletes a dead letter, or all that fit a filter',
  takes: '[TASK]',
  flags: PURGE_FLAGS,
  examples: ['redrive dead purge --reason expired --confirm 12'],
  async run(words, io) {
    const flags = await clientFlags(PURGE_FLAGS, words, io)
    const client = new Client(flags)
    const task = taskOf(words, 'dead purge', flags)
    if (task !== undefined) {
      await client.callTask('DELETE', '/dead-letters', task)
      if (flags.json) printJson(io, { outcome: 'purged' })
      else say(io, 'Deleted.')
      return 0
    }
    const filter = filterOf('dead purge', flags)
    if (flags.confirm === undefined) {
      throw new UsageError('--confirm is missing: give the number of dead letters that are to be deleted')
    }
    const { json } = await client.call('POST', '/dead-letters/purge', { json: { filter, confirm: flags.confirm } })
    return follow(json, client, flags, io)
  },
}

const exportCommand: Command = {
  name: 'dead export',
  summary: 'Prints dead letters with their attempts, one JSON object a line, without bodies',
  flags: FILTER_FLAGS,
  examples: ['redrive dead export --all > dead.ndjson'],
  async run(words, io) {
    noWords(words, 'dead export')
    const flags = await clientFlags(FILTER_FLAGS, words, io)
    const query = filterOf('dead export', flags)
    const decoder = new TextDecoder()
    for await (const piece of new Client(flags).stream('/dead-letters/export', {
      query,
      headers: { accept: 'application/x-ndjson' },
    })) {
      io.stdout.write(harmlessJson(decoder.decode(piece, { stream: true })))
    }
    return 0
  },
}

export const deadCommands: readonly Command[] = [list, redrive, purge, exportCommand]
