/**
 * Reads the flags of a command: from its words, from the environment and from the configuration file, in this order of precedence. The
 * first wrong value ends it, and the error names where it stood, what came and what was expected.
 */

import { parseArgs } from 'node:util'
import { show } from 'redrive/internal'
import { type AnyTable, envOf, type Flag, type FlagTable, nameOf } from './flag.ts'
import { type Io, reasonOf, UsageError, withoutLogin } from './io.ts'
import type { Kind, Tools } from './kinds.ts'
import { nearest, suggestion } from './nearest.ts'

type Source = 'flag' | 'env' | 'file' | 'default'

/** The words of a command, sorted, and not read yet. */
export interface Words {
  /** By key; a switch is 'true' or 'false'. */
  readonly flags: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
}

export interface Read<V> {
  readonly values: V
  /** Where each value came from. */
  readonly from: { readonly [K in keyof V]: Source }
}

/** The values of a configuration file, and the name that errors call it by. */
export interface FileValues {
  readonly name: string
  readonly values: Readonly<Record<string, unknown>>
}

/** Throws a UsageError for a flag that there is not, and for one without its value. `program`: names the command, too. */
export function sortWords(argv: readonly string[], table: AnyTable, program?: string): Words {
  const keys = new Map(Object.keys(table).map((key) => [nameOf(key), key]))
  const options = Object.fromEntries(
    Object.entries(table).map(([key, { kind, short }]) => {
      const type = kind.placeholder === '' ? ('boolean' as const) : ('string' as const)
      return [nameOf(key), { type, ...(short && { short }) }]
    }),
  )
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true })
  const flags = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const off = keys.get(token.name.replace(/^no-/, ''))
    const isOff = !keys.has(token.name) && off !== undefined && table[off]?.kind.placeholder === ''
    const key = isOff ? off : keys.get(token.name)
    const flag = key === undefined ? undefined : table[key]
    if (key === undefined || !flag) {
      const known = suggestion(token.name, [...keys.keys()], '--', program)
      throw new UsageError(`${token.rawName}: no such flag; ${known}`)
    }
    const given = flags.get(key) ?? []
    flags.set(key, given)
    given.push(isOff ? 'false' : textOf(flag, token))
  }
  return { flags, positionals }
}

interface Option {
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function textOf({ kind }: Flag<unknown>, { rawName, value, inlineValue }: Option): string {
  if (kind.placeholder === '') return value ?? 'true'
  // a word that begins with two dashes is the next flag, and the value was forgotten
  const isFlag = inlineValue !== true && value?.startsWith('--')
  if (value === undefined || isFlag) {
    throw new UsageError(`${rawName}: expected ${kind.expected}, got ${isFlag ? `the flag ${value}` : 'nothing'}`)
  }
  return value
}

/** Reads all of a table. */
export function readFlags<V>(
  table: FlagTable<V>,
  { words, env, file, tools }: Sources & { readonly words: Words },
): Read<V> {
  const values: Record<string, unknown> = {}
  const from: Record<string, Source> = {}
  for (const [key, flag] of Object.entries(table as AnyTable)) {
    const found = firstOf(key, flag, { words, env, file, tools })
    values[key] = found ? found.value : flag.default
    from[key] = found?.source ?? 'default'
  }
  return { values: values as V, from: from as Read<V>['from'] }
}

interface Sources {
  readonly env: Io['env']
  readonly file?: FileValues | undefined
  readonly tools: Tools
}

function firstOf(
  key: string,
  flag: Flag<unknown>,
  { words, env, file, tools }: Sources & { readonly words: Words },
): { readonly value: unknown; readonly source: Source } | undefined {
  const { kind } = flag
  const given = words.flags.get(key)
  const last = given?.at(-1)
  if (given && last !== undefined) {
    const text = kind.isList ? given.join(',') : last
    return { value: wanted(`--${nameOf(key)}`, text, () => kind.fromText(text, tools), kind), source: 'flag' }
  }
  const variable = envOf(key)
  const inEnv = flag.inEnv === false ? undefined : env[variable]
  if (inEnv && !isServiceLink(variable, inEnv)) {
    return { value: wanted(variable, inEnv, () => kind.fromText(inEnv, tools), kind), source: 'env' }
  }
  const inFile = flag.inFile === false ? undefined : file?.values[key]
  if (inFile === undefined) return undefined
  const label = `${file?.name}, ${key}`
  return { value: wanted(label, inFile, () => kind.fromJson(inFile, tools), kind), source: 'file' }
}

function wanted(
  label: string,
  given: unknown,
  read: () => unknown,
  { expected, isSecret }: Pick<Kind<unknown>, 'expected' | 'isSecret'>,
): unknown {
  const value = readAs(label, read)
  if (value !== undefined) return value
  throw new UsageError(`${label}: expected ${expected}${isSecret ? '' : `, got ${shown(given)}`}`)
}

/** Some readers say by themselves what is wrong, under the name of an option. */
function readAs(label: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`${label}: ${reasonOf(error).replace(/^\w+: /, '')}`)
  }
}

/** A value that may have a password in it, as a URL has. Control characters would break the line. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return show(value)
  if (value === '') return 'nothing'
  const bare = withoutLogin(value).replace(/[?#].*$/s, '…')
  return show(bare.replace(/[^\P{C}]/gu, '\ufffd'))
}

/** Kubernetes gives every container variables that name the services of its namespace: of one called redrive, REDRIVE_PORT is a URL. */
const isServiceLink = (name: string, value: string): boolean =>
  /^REDRIVE_SERVICE_(HOST|PORT)/.test(name) ||
  /^REDRIVE_PORT_\d+_(TCP|UDP)/.test(name) ||
  (name === 'REDRIVE_PORT' && /^(tcp|udp):\/\//.test(value))

const PREFIX = 'REDRIVE_'
const bare = (name: string): string => name.slice(PREFIX.length)

/** One sentence for each variable that looks like a setting and is none of `known`. */
export function strangers(env: Io['env'], known: readonly string[]): string[] {
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith(PREFIX) && !known.includes(name) && !isServiceLink(name, value ?? ''))
    .map(([name]) => {
      const best = nearest(bare(name), known.map(bare))
      return `${name} is no setting${best ? `; did you mean ${PREFIX}${best}?` : ' and has no effect'}`
    })
}
