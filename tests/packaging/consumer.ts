// A throw-away project that has installed the package and configured nothing.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root, unpacked } from './pack.ts'

/** What every consumer runs: one call that fails once, so that the core is loaded, instantiated and asked. */
export const program = `
import { RetryQueue } from 'redrive'
import { wrapFetch } from 'redrive/fetch'

export async function main(url) {
  const queue = new RetryQueue({ policy: { initialDelayMs: 1, jitterType: 'NONE' } })
  const degraded = []
  queue.on('degraded', ({ code }) => degraded.push(code))
  const response = await wrapFetch(queue)(url)
  const answer = { status: response.status, body: await response.text(), degraded }
  await queue.close()
  return answer
}
`

/** What it must answer, wherever it runs. */
export const expected = { status: 200, body: 'attempt 2', degraded: [] }

export interface Consumer extends Disposable {
  readonly folder: string
  /** Runs this very Node on a script of the project and gives what it printed, read as JSON. */
  node(script: string, ...args: readonly string[]): Promise<unknown>
  /** Paths of all files under a folder of the project. */
  files(folder: string): string[]
}

export function consumer(files: Readonly<Record<string, string>>): Consumer {
  const folder = mkdtempSync(join(tmpdir(), 'redrive-consumer-'))
  cpSync(unpacked, join(folder, 'node_modules', 'redrive'), { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return {
    folder,
    async node(script, ...args) {
      // Without this run's own environment: a test runner sets NODE_ENV and more, a user's shell does not.
      const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
      const { stdout } = await promisify(execFile)(process.execPath, [script, ...args], { cwd: folder, env })
      return JSON.parse(stdout)
    },
    files: (name) => readdirSync(join(folder, name), { recursive: true }).map(String),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Installs a package of this repository's own: a peer that the user has. */
export function link({ folder }: Consumer, name: string): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), place)
}
