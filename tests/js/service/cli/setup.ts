/** One command line, run in this process: what it has written, and its exit code. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect } from 'vitest'
import { RetryQueue } from '../../../../js/index.ts'
import { main } from '../../../../js/service/cli/cli.ts'
import type { Finding } from '../../../../js/service/cli/findings.ts'
import type { ServeHost } from '../../../../js/service/cli/serving.ts'
import type { Settings } from '../../../../js/service/cli/settings.ts'
import type { TaskStore } from '../../../../js/store.ts'
import { freshFolder } from '../../../folder.ts'

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Files in the folder in which it runs, as text or as JSON. */
  readonly files?: Readonly<Record<string, unknown>>
  readonly isTTY?: boolean
  readonly columns?: number
  /** stderr is a terminal, too. */
  readonly errorColumns?: number
  readonly cwd?: string
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  /** Those with which the service would have started. undefined: it was another command, or refused. */
  readonly settings: Settings | undefined
  readonly host: ServeHost | undefined
  readonly cwd: string
}

export function folderOf(files: Readonly<Record<string, unknown>> = {}): string {
  const folder = freshFolder()
  write(folder, files)
  return folder
}

export function write(folder: string, files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
}

export async function run(argv: string | readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, files = {}, isTTY = false, columns, errorColumns, cwd = folderOf(files) } = options
  const out: string[] = []
  const err: string[] = []
  let started: { readonly settings: Settings; readonly host: ServeHost } | undefined
  const io = {
    argv: typeof argv === 'string' ? argv.split(' ').filter(Boolean) : argv,
    env,
    stdout: { write: (text: string) => out.push(text) },
    stderr: { write: (text: string) => err.push(text) },
    isTTY,
    columns,
    errorColumns,
    cwd,
    version: '1.2.3',
  }
  const code = await main(io, async (settings, host) => {
    started = { settings, host }
    return 0
  })
  return { code, out: out.join(''), err: err.join(''), settings: started?.settings, host: started?.host, cwd }
}

export const bare = (text: string): string => stripVTControlCharacters(text)

/** The longest line, in columns: all characters here are one wide. */
export const widest = (text: string): number =>
  Math.max(
    ...bare(text)
      .split('\n')
      .map((line) => [...line].length),
  )

/** What the doctor finds out about a store, by what it is about. */
export async function examine(store: string, words: readonly string[] = [], options: RunOptions = {}) {
  const { code, out, err } = await run(['doctor', '--json', '--store', store, ...words], options)
  expect(err).toBe('')
  const { ok, findings } = JSON.parse(out) as { readonly ok: boolean; readonly findings: readonly Finding[] }
  expect(code).toBe(ok ? 0 : 1)
  return { code, all: findings, findings: Object.fromEntries(findings.map((finding) => [finding.about, finding])) }
}

/** A finding of this level, with these words. */
export const says = (level: Finding['level'], words: string | RegExp) => ({
  level,
  text: typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words),
})

/** Hands tasks over that wait. */
export async function fill(store: TaskStore, count: number, body: string): Promise<void> {
  const queue = new RetryQueue({ name: 'doctor', principal: null, store, warn: false })
  queue.pause()
  for (let i = 0; i < count; i += 1) await queue.enqueue(`https://api.test/${i}`, { method: 'POST', body })
  await queue.close()
}
