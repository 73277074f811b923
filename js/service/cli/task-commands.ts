/** `redrive task …`: single tasks of a running service, over HTTP. */

import { harmless, STATUS_WORDS, systemClock } from 'redrive/internal'
import { CLIENT_FLAGS, Client, type ClientFlags, clientFlags, noWords, type Query, taskWord } from './client.ts'
import type { Command } from './command.ts'
import { type FlagTable, own } from './flag.ts'
import { type Io, printJson, say } from './io.ts'
import * as kinds from './kinds.ts'
import { attemptTable, decisionTable, type Fields, factsOf, fieldsOf, listIn, sheetOf, taskTable } from './show.ts'
import { paintOf } from './terminal.ts'

const when = kinds.moment(() => systemClock.now())

export interface ListFlags extends ClientFlags {
  readonly origin: string | undefined
  readonly policy: string | undefined
  readonly tag: readonly string[] | undefined
  readonly createdAfter: number | undefined
  readonly createdBefore: number | undefined
  readonly order: 'rising' | 'falling' | undefined
  readonly limit: number | undefined
  readonly cursor: string | undefined
}

/** Flags of every list. */
export const LIST_FLAGS: FlagTable<ListFlags> = {
  origin: {
    ...own,
    kind: kinds.text('an origin such as https://api.example.com', { placeholder: 'ORIGIN', ok: kinds.isOrigin }),
    help: 'Only those that go to this origin',
  },
  policy: {
    ...own,
    kind: kinds.text('the name of a policy', { placeholder: 'NAME' }),
    help: 'Only those of this policy',
  },
  tag: {
    ...own,
    kind: kinds.listOf(
      kinds.text('a tag', { placeholder: 'NAME=VALUE', ok: (tag) => tag.includes('=') }),
      'tags with commas between them, such as invoice=2041',
    ),
    help: 'Only those with all of these tags',
  },
  createdAfter: { ...own, kind: when, help: 'Only those made after this: a date, epoch ms, or how long ago (2h)' },
  createdBefore: { ...own, kind: when, help: 'Only those made before this' },
  order: {
    ...own,
    kind: kinds.choice('rising', 'falling'),
    unless: 'falling',
    help: 'Oldest first, or youngest first',
  },
  limit: { ...own, kind: kinds.whole(1, 1_000), unless: '100', help: 'Most of them' },
  cursor: {
    ...own,
    kind: kinds.text('the cursor of a list', { placeholder: 'CURSOR' }),
    help: 'Goes on where a list ended',
  },
  ...CLIENT_FLAGS,
}

/** The query of a list. */
export const queryOf = ({ origin, policy, tag, ...page }: ListFlags): Query => ({
  origin,
  policyId: policy,
  tags: tag,
  createdAfter: page.createdAfter,
  createdBefore: page.createdBefore,
  order: page.order,
  limit: page.limit,
  cursor: page.cursor,
})

/** A list, and how to see the rest of it. */
export function printList(
  io: Io,
  {
    json,
    flags,
    show,
  }: { readonly json: unknown; readonly flags: ClientFlags; readonly show: (tasks: readonly Fields[]) => string },
): void {
  if (flags.json) {
    printJson(io, json)
    return
  }
  const tasks = listIn(json, 'tasks')
  const { cursor } = fieldsOf(json)
  // a page looks at so many tasks, and may find none that fit
  const none = typeof cursor === 'string' ? 'None so far.' : 'There are none.'
  say(io, tasks.length === 0 ? none : show(tasks))
  if (typeof cursor === 'string') say(io, `\n${paintOf(io)('dim', `There may be more: --cursor ${harmless(cursor)}`)}`)
}

const BASE = '/retry-tasks'

/** A command about one task, whose answer is shown. */
function about(
  name: string,
  summary: string,
  {
    method = 'GET',
    path = '',
    show,
  }: { readonly method?: string; readonly path?: string; readonly show: (answer: unknown, io: Io) => string },
): Command {
  return {
    name,
    summary,
    takes: 'TASK',
    flags: CLIENT_FLAGS,
    async run(words, io) {
      const task = taskWord(words, name)
      const flags = await clientFlags(CLIENT_FLAGS, words, io)
      const { json } = await new Client(flags).callTask(method, BASE, task, path)
      if (flags.json) printJson(io, json)
      else say(io, show(json, io))
      return 0
    },
  }
}

const showTask = (task: unknown, io: Io): string => factsOf(fieldsOf(task), sheetOf(io))

interface GetFlags extends ClientFlags {
  readonly wait: number | undefined
}
const GET_FLAGS: FlagTable<GetFlags> = {
  wait: { ...own, kind: kinds.duration(1_000, 60_000, '30s'), help: 'Waits for so long until the task has ended' },
  ...CLIENT_FLAGS,
}

const get: Command = {
  name: 'task get',
  summary: 'Shows a task, named by its id or by its idempotency key, as in all commands',
  takes: 'TASK',
  flags: GET_FLAGS,
  examples: ['redrive task get invoice-2041 --wait 30s'],
  async run(words, io) {
    const task = taskWord(words, 'task get')
    const flags = await clientFlags(GET_FLAGS, words, io)
    const seconds = flags.wait === undefined ? undefined : Math.ceil(flags.wait / 1_000)
    const { json } = await new Client(flags).callTask('GET', BASE, task, '', {
      ...(seconds !== undefined && { headers: { prefer: `wait=${seconds}` } }),
      timeoutMs: 30_000 + (seconds ?? 0) * 1_000,
    })
    if (flags.json) printJson(io, json)
    else say(io, showTask(json, io))
    return 0
  },
}

const STATUSES = ['PENDING', 'IN_FLIGHT', 'SUCCEEDED', 'EXHAUSTED', 'CANCELLED'] as const
const STATUS = kinds.choice(...STATUSES)

interface TaskListFlags extends ListFlags {
  readonly status: (typeof STATUSES)[number] | undefined
}
const TASK_LIST_FLAGS: FlagTable<TaskListFlags> = {
  status: {
    ...own,
    kind: {
      ...STATUS,
      placeholder: 'STATUS',
      fromText: (text, tools) => STATUS.fromText(text, tools) ?? STATUSES.find((each) => STATUS_WORDS[each] === text),
    },
    help: 'Only those of this status: PENDING (waiting), IN_FLIGHT, SUCCEEDED, EXHAUSTED (dead letters) or CANCELLED',
  },
  ...LIST_FLAGS,
}

const list: Command = {
  name: 'task list',
  summary: 'Lists tasks',
  flags: TASK_LIST_FLAGS,
  examples: ['redrive task list --status PENDING --origin https://api.example.com'],
  async run(words, io) {
    noWords(words, 'task list')
    const flags = await clientFlags(TASK_LIST_FLAGS, words, io)
    const { json } = await new Client(flags).call('GET', '/retry-tasks', {
      query: { status: flags.status, ...queryOf(flags) },
    })
    printList(io, { json, flags, show: (tasks) => taskTable(tasks, sheetOf(io)) })
    return 0
  },
}

const cancel = about('task cancel', 'Cancels a task', {
  method: 'DELETE',
  show: (answer) =>
    fieldsOf(answer).outcome === 'requested'
      ? 'It is in flight: if this attempt succeeds, that counts; no other is made.'
      : 'Cancelled.',
})

interface DueFlags extends ClientFlags {
  readonly delay: number
}
const DUE_FLAGS: FlagTable<DueFlags> = {
  delay: { ...own, kind: kinds.duration(0, 7_776_000_000, '10m'), default: 0, help: 'How long from now' },
  ...CLIENT_FLAGS,
}

const due: Command = {
  name: 'task due',
  summary: 'Makes the next attempt of a task now, or later',
  takes: 'TASK',
  flags: DUE_FLAGS,
  examples: ['redrive task due 0199c1d2-7f00-7000-8000-000000000000 --delay 10m'],
  async run(words, io) {
    const task = taskWord(words, 'task due')
    const flags = await clientFlags(DUE_FLAGS, words, io)
    const { json } = await new Client(flags).callTask('POST', BASE, task, '/due', { json: { delayMs: flags.delay } })
    if (flags.json) printJson(io, json)
    else say(io, showTask(json, io))
    return 0
  },
}

export const taskCommands: readonly Command[] = [
  get,
  list,
  cancel,
  due,
  about('task attempts', 'Lists the attempts of a task', {
    path: '/attempts',
    show: (answer, io) => {
      const attempts = listIn(answer, 'attempts')
      return attempts.length === 0 ? 'There was none yet.' : attemptTable(attempts, sheetOf(io))
    },
  }),
  about('task explain', 'Says what was decided about a task, and what it waits for', {
    path: '/explain',
    show: (answer, io) => decisionTable(listIn(answer, 'decisions'), sheetOf(io)),
  }),
]
