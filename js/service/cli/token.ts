/** `redrive token`: a new token, and the entry of the configuration that lets it in. The configuration has no more than its hash. */

import { createHash, randomBytes } from 'node:crypto'
import { TENANT_SHAPE, TENANT_WORDS } from '../shapes.ts'
import type { Command } from './command.ts'
import { type FlagTable, own } from './flag.ts'
import { UsageError } from './io.ts'
import * as kinds from './kinds.ts'
import { suggestion } from './nearest.ts'
import { readFlags } from './read-flags.ts'
import { SCOPES, type Scope, type TokenEntry } from './records.ts'
import { paintOf, paragraph, widthOf } from './terminal.ts'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const BITS_A_LETTER = 5

/** `rd_` and 26 letters of base32 (RFC 4648, in small letters): 128 bits, and two more that are 0. */
export function tokenOf(bits: Uint8Array): string {
  let rest = 0
  let held = 0
  let letters = ''
  for (const byte of bits) {
    rest = (rest << 8) | byte
    held += 8
    while (held >= BITS_A_LETTER) {
      held -= BITS_A_LETTER
      letters += ALPHABET[(rest >> held) & 31]
    }
    rest &= (1 << held) - 1
  }
  if (held > 0) letters += ALPHABET[(rest << (BITS_A_LETTER - held)) & 31]
  return `rd_${letters}`
}

/** The hash that an entry has of its token. */
export const hashOf = (token: string): string => createHash('sha256').update(token, 'utf8').digest('hex')

interface TokenFlags {
  readonly tenant: string | undefined
  readonly scope: readonly string[] | undefined
  readonly name: string | undefined
  readonly json: boolean
}

const TABLE: FlagTable<TokenFlags> = {
  tenant: {
    ...own,
    kind: kinds.text(TENANT_WORDS, { placeholder: 'NAME', ok: (name) => TENANT_SHAPE.test(name) }),
    help: 'Tenant whose tasks it may see. Without one: those of no tenant, and with the scope admin those of all',
  },
  scope: {
    ...own,
    kind: kinds.listOf(
      kinds.text('a scope', { placeholder: 'SCOPE' }),
      `scopes with commas between them: ${SCOPES.join(', ')}`,
    ),
    help: `What it may do: ${SCOPES.join(', ')}`,
  },
  name: { ...own, kind: kinds.text('a name', { placeholder: 'NAME' }), help: 'Name that logs call it by' },
  json: { ...own, kind: kinds.toggle, default: false, help: 'Prints { token, entry } as JSON' },
}

export const tokenCommand: Command = {
  name: 'token',
  summary: 'Makes a token, and the entry that lets it in',
  flags: TABLE,
  examples: [
    'redrive token --tenant acme --scope tasks:read,tasks:write --name backend',
    'redrive token --scope admin',
  ],
  async run(words, io) {
    const [strange] = words.positionals
    if (strange !== undefined) throw new UsageError(`token: unexpected '${strange}'; write --tenant ${strange}`)
    const tools = { parseDuration: Number }
    const { tenant = null, scope, name, json } = readFlags(TABLE, { words, env: io.env, tools }).values
    if (scope === undefined) throw new UsageError(`--scope is missing: expected some of ${SCOPES.join(', ')}`)
    const token = tokenOf(randomBytes(16))
    const entry: Omit<TokenEntry, 'name'> & { readonly name?: string } = {
      sha256: hashOf(token),
      tenant,
      scopes: scope.map(scopeOf),
      ...(name !== undefined && { name }),
    }
    const paint = paintOf(io)
    const say = (text: string) => `${paint('dim', paragraph(text, widthOf(io)))}\n\n`
    io.stdout.write(
      json
        ? `${JSON.stringify({ token, entry }, null, 2)}\n`
        : `${say('The token. It is shown this once; keep it where secrets are kept:')}${paint('bold', token)}\n\n${say('Its entry, for "tokens" in redrive.config.json, or as the file of --tokens:')}${JSON.stringify([entry], null, 2)}\n`,
    )
    return 0
  },
}

function scopeOf(given: string): Scope {
  const scope = SCOPES.find((each) => each === given)
  if (scope) return scope
  throw new UsageError(`--scope: there is no scope '${given}'; ${suggestion(given, SCOPES)}`)
}
