/** A setting as a table has it, and the names that come of its key. */

import type { Kind } from './kinds.ts'

export const GROUPS = [
  'Store',
  'Listening',
  'Who may call',
  'Where requests may go',
  'Sending',
  'Default policy',
  'Limits',
  'Process',
] as const
type Group = (typeof GROUPS)[number]

export interface Flag<T> {
  readonly kind: Kind<T>
  /** A sentence about its effect, without the full stop. */
  readonly help: string
  readonly group?: Group
  readonly default?: T
  /** The default in words, where no value says it. */
  readonly unless?: string
  /** One letter. */
  readonly short?: string
  /** Whether the environment may give it. @default true */
  readonly inEnv?: false
  /** Whether the configuration file may give it. @default true */
  readonly inFile?: false
}

/** A table of flags for values of type `V`. */
export type FlagTable<V> = { readonly [K in keyof V]-?: Flag<NonNullable<V[K]>> }

/** A flag of one command: neither the environment nor the file gives it. */
export const own = { inEnv: false, inFile: false } as const

/** Any table, without the types of its values. */
export type AnyTable = Readonly<Record<string, Flag<unknown>>>

/** The flag of a key: `maxBody` is `max-body`. */
export const nameOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The variable of a key: `maxBody` is `REDRIVE_MAX_BODY`. */
export const envOf = (key: string): string => `REDRIVE_${nameOf(key).toUpperCase().replaceAll('-', '_')}`

/** A row of the help and of the documentation. */
export interface FlagRow {
  readonly group: string
  /** With its dashes. */
  readonly flag: string
  /** Empty: a switch. */
  readonly placeholder: string
  /** undefined: the environment cannot give it. */
  readonly env: string | undefined
  /** undefined: the configuration file cannot give it. */
  readonly key: string | undefined
  /** In words; empty: none. */
  readonly default: string
  readonly help: string
}

/** The rows of a table, in its order. */
export function rowsOf(table: object): readonly FlagRow[] {
  return Object.entries(table as AnyTable).map(([key, flag]) => ({
    group: flag.group ?? '',
    flag: `--${nameOf(key)}`,
    placeholder: flag.kind.placeholder,
    env: flag.inEnv === false ? undefined : envOf(key),
    key: flag.inFile === false ? undefined : key,
    default: flag.default === undefined ? (flag.unless ?? '') : flag.kind.print(flag.default),
    help: flag.help,
  }))
}
