/** Every command but `serve`, in the order of the help. */

import { harmless } from 'redrive/internal'
import { CLIENT_FLAGS, Client, type ClientFlags, clientFlags, noWords, onlyWord } from './client.ts'
import type { Command } from './command.ts'
import { deadCommands } from './dead-commands.ts'
import { doctorCommand } from './doctor.ts'
import { type FlagTable, own } from './flag.ts'
import { type Io, printJson, say } from './io.ts'
import * as kinds from './kinds.ts'
import { planCommand } from './plan.ts'
import { policiesOf } from './records.ts'
import { fieldsOf } from './show.ts'
import { taskCommands } from './task-commands.ts'
import { tokenCommand } from './token.ts'

const applyCommand: Command = {
  name: 'policy apply',
  summary: 'Registers the policies of a file, in place of those of the same ids',
  takes: 'FILE',
  flags: CLIENT_FLAGS,
  examples: ['redrive policy apply policies.json'],
  async run(words, io) {
    const file = onlyWord(words, 'policy apply', 'file')
    const flags = await clientFlags(CLIENT_FLAGS, words, io)
    const client = new Client(flags)
    const done: { policyId: string; outcome: 'created' | 'replaced' }[] = []
    // all are checked before the first is sent
    for (const policy of policiesOf(file, io.cwd)) {
      const { status } = await client.call('PUT', `/retry-policies/${encodeURIComponent(policy.policyId)}`, {
        json: policy,
      })
      done.push({ policyId: policy.policyId, outcome: status === 201 ? 'created' : 'replaced' })
      const last = done.at(-1)
      if (last && !flags.json) say(io, harmless(`${last.policyId}: ${last.outcome}`))
    }
    if (flags.json) printJson(io, done)
    return 0
  },
}

interface HealthFlags extends ClientFlags {
  readonly ready: boolean
}
const HEALTH_FLAGS: FlagTable<HealthFlags> = {
  ready: { ...own, kind: kinds.toggle, default: false, help: 'Whether it takes tasks, and not only whether it runs' },
  ...CLIENT_FLAGS,
  url: { ...CLIENT_FLAGS.url, help: 'Where the service listens (or REDRIVE_URL, or the port of REDRIVE_PORT)' },
}

/** The address in a container whose port was set in the environment. */
function ownAddress({ env }: Io): string | undefined {
  if (env.REDRIVE_URL) return undefined
  const port = [env.REDRIVE_ADMIN_PORT, env.REDRIVE_PORT].find((each) => /^\d+$/.test(each ?? ''))
  return port && `${env.REDRIVE_TLS_CERT ? 'https' : 'http'}://127.0.0.1:${port}`
}

/** The checks that have failed, by name. `draining` is one that should be false. */
function failedIn(json: unknown): string {
  const checks = Object.entries(fieldsOf(fieldsOf(json).checks))
  const failed = checks.filter(([name, value]) =>
    name === 'draining' ? value === true : value !== true && value !== 'ok',
  )
  const { reason } = fieldsOf(json)
  const names = failed.map(([name]) => name).join(', ') || 'the service says so'
  return typeof reason === 'string' ? `${names} (${reason})` : names
}

const healthCommand: Command = {
  name: 'health',
  summary: 'Asks whether the service runs, for HEALTHCHECK; exit code 1 if not',
  flags: HEALTH_FLAGS,
  async run(words, io) {
    noWords(words, 'health')
    const flags = await clientFlags(HEALTH_FLAGS, words, io)
    const url = words.flags.has('url') ? flags.url : (ownAddress(io) ?? flags.url)
    const path = flags.ready ? '/readyz' : '/healthz'
    const { status, json } = await new Client({ ...flags, url }).call('GET', path, { timeoutMs: 5_000, also: 503 })
    if (flags.json) printJson(io, json)
    else
      say(io, harmless(status === 503 ? `not ready: ${failedIn(json)}` : `ok ${fieldsOf(json).version ?? ''}`.trim()))
    return status === 503 ? 1 : 0
  },
}

export const COMMANDS: readonly Command[] = [
  planCommand,
  tokenCommand,
  doctorCommand,
  ...taskCommands,
  ...deadCommands,
  applyCommand,
  healthCommand,
]
