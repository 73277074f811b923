/** `redrive dead …`: dead letters of a running service, over HTTP. */

import { plural } from '../../display/format.ts'
import { systemClock } from '../../platform/clock.ts'
import { CLIENT_FLAGS, Client, type ClientFlags, clientFlags, noWords, taskWord } from './client.ts'
import type { Command } from './command.ts'
import { type FlagTable, own } from './flag.ts'
import { harmlessJson, type Io, printJson, say, UsageError } from './io.ts'
import * as kinds from './kinds.ts'
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

/** The filter that was given, which `--all` alone may leave empty. */
function filterOf(name: string, { origin, policy, reason, endedAfter, endedBefore, all }: FilterFlags): Filter {
  const given = { origin, policyId: policy, reason, endedAfter, endedBefore }
  const filter = Object.entries(given).filter((pair): pair is [string, string | number] => pair[1] !== undefined)
  if (filter.length === 0 && !all) {
    throw new UsageError(`${name}: which? expected a task id, a filter such as --origin or --reason, or --all`)
  }
  if (filter.length > 0 && all) throw new UsageError(`${name}: --all and a filter exclude each other`)
  return Object.fromEntries(filter)
}

const operationOf = (json: unknown): string => {
  const { operationId, total } = fieldsOf(json)
  const many = typeof total === 'number' ? ` over ${plural(total, 'dead letter')}` : ''
  return `Operation ${operationId} goes on in the service${many}.`
}

interface RedriveFlags extends FilterFlags {
  readonly perSecond: number | undefined
  readonly acceptDuplicateRisk: boolean
}
const REDRIVE_FLAGS: FlagTable<RedriveFlags> = {
  ...FILTER_FLAGS,
  perSecond: { ...own, kind: kinds.fraction(0.01, 1_000), help: 'Puts back so many a second, and not all at once' },
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
  say(io, isRepeat ? 'It was put back before; nothing was changed.\n' : 'It is put back.\n')
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
    if (words.positionals.length > 0) {
      const task = taskWord(words, 'dead redrive')
      const { json } = await client.callTask('POST', '/dead-letters', task, '/redrive', { json: risk })
      if (flags.json) printJson(io, json)
      else sayRedriven(json, io)
      return 0
    }
    const filter = filterOf('dead redrive', flags)
    const pace = flags.perSecond === undefined ? {} : { perSecond: flags.perSecond }
    const { json } = await client.call('POST', '/dead-letters/redrive', { json: { filter, ...pace, ...risk } })
    if (flags.json) printJson(io, json)
    else say(io, operationOf(json))
    return 0
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
    if (words.positionals.length > 0) {
      await client.callTask('DELETE', '/dead-letters', taskWord(words, 'dead purge'))
      if (flags.json) printJson(io, { outcome: 'purged' })
      else say(io, 'Deleted.')
      return 0
    }
    const filter = filterOf('dead purge', flags)
    if (flags.confirm === undefined) {
      throw new UsageError('--confirm is missing: give the number of dead letters that are to be deleted')
    }
    const { json } = await client.call('POST', '/dead-letters/purge', { json: { filter, confirm: flags.confirm } })
    if (flags.json) printJson(io, json)
    else say(io, operationOf(json))
    return 0
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
