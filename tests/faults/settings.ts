/** What a run can be asked for, as a table: each option is read, checked and explained by its row. */

import { parseArgs } from 'node:util'

export interface Setting<T> {
  /** What stands for its value in the help. */
  readonly sign: string
  readonly words: string
  read(name: string, text: string | undefined): T
}

const usually = (words: string, usual: unknown): string => (usual === undefined ? words : `${words} (default ${usual})`)

/** A whole number. */
export const count = <U extends number | undefined>(
  usual: U,
  [least, most]: readonly [number, number],
  words: string,
): Setting<number | U> => ({
  sign: 'N',
  words: usually(words, usual),
  read: (name, text) => (text === undefined ? usual : whole(name, text, least, most)),
})

/** Minutes, in seconds. */
export const minutes = <U extends number | undefined>(usual: U, words: string): Setting<number | U> => ({
  sign: 'M',
  words,
  read(name, text) {
    if (text === undefined) return usual
    const value = Number(text)
    if (text !== '' && value > 0 && value <= 10_000) return value * 60
    throw new RangeError(`--${name}: expected a number above 0, got '${text}'`)
  },
})

export const choice = <T extends string, U extends T | undefined>(
  usual: U,
  all: readonly T[],
  words: string,
): Setting<T | U> => ({
  sign: 'X',
  words: `${all.join(', ')}: ${usually(words, usual)}`,
  read: (name, text) => (text === undefined ? usual : oneOf(name, text, all)),
})

/** Several, with commas; 'none'; and all where nothing is asked for. */
export const several = <T extends string>(all: readonly T[], words: string): Setting<readonly T[]> => ({
  sign: 'A,B',
  words: `${words}: ${all.join(', ')}, or none (default all)`,
  read(name, text) {
    if (text === undefined) return all
    return text === 'none' ? [] : text.split(',').map((each) => oneOf(name, each, all))
  },
})

export const seed: Setting<number> = count(1, [0, 2 ** 32 - 1], 'which faults the server makes, what befalls whom when')

type Table = Readonly<Record<string, Setting<unknown>>>
export type Asked<T extends Table> = { readonly [Name in keyof T]: ReturnType<T[Name]['read']> }

/** undefined: only help was asked for. */
export function read<T extends Table>(args: readonly string[], table: T): Asked<T> | undefined {
  const options = Object.fromEntries(Object.keys(table).map((name) => [name, { type: 'string' } as const]))
  const { values } = parseArgs({ args: [...args], options: { ...options, help: { type: 'boolean' } } })
  if (values.help) return undefined
  const texts = values as Readonly<Record<string, string | undefined>>
  const asked = Object.entries(table).map(([name, setting]) => [name, setting.read(name, texts[name])])
  return Object.fromEntries(asked) as Asked<T>
}

export function helpFor(what: string, command: string, table: Table): string {
  const rows = Object.entries(table).map(([name, { sign, words }]) => `  ${`--${name} ${sign}`.padEnd(18)}${words}`)
  return [what, '', `  ${command} [options]`, '', ...rows, `  ${'--help'.padEnd(18)}this text`, ''].join('\n')
}

export function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new RangeError(`--${name}: expected a whole number from ${least} to ${most}, got '${text}'`)
}

function oneOf<T extends string>(name: string, text: string, all: readonly T[]): T {
  const found = all.find((each) => each === text)
  if (found === undefined) throw new RangeError(`--${name}: expected ${all.join(', ')}, got '${text}'`)
  return found
}
