/** The README's table of other libraries, by its rows. */
import { readFileSync } from 'node:fs'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

const PEERS = ['redrive', 'ky', 'axios-retry', 'p-retry', 'Workbox', 'BullMQ'] as const

const cells = (line: string) =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())

/** `ky 2.1` and its like. */
export const columns: readonly string[] = cells(/^\| \| redrive .*\|$/m.exec(readme)?.[0] ?? '').slice(1)

/** Who does what that row says. */
export function rowOf(name: string): Readonly<Record<(typeof PEERS)[number], string>> {
  const line = readme.split('\n').find((each) => each.startsWith(`| ${name} |`))
  if (!line) throw new Error(`the README has no row '${name}'`)
  const [, ...rest] = cells(line)
  return Object.fromEntries(PEERS.map((peer, i) => [peer, rest[i] ?? ''])) as ReturnType<typeof rowOf>
}
