// A throw-away project that has installed the package and configured nothing.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type PackageName, root, unpacked, unpackedOf } from './pack.ts'

/** What a page of a consumer runs: it leaves its answer where the test looks for it. */
export const inPage = `
import { main } from './queue.js'
const api = new URLSearchParams(location.search).get('api')
main(api).then((answer) => { globalThis.answer = answer }, (error) => { globalThis.failure = String(error?.stack ?? error) })
`
export const pageOf = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><title>t</title><script type="module" src="${script}"></script>`

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

/** Prints whether a class is the same by import and by `require`, as a program needs it that mixes both. */
export const mixed = `
import { createRequire } from 'node:module'
import { RetryQueue } from 'redrive'
import { memoryStore } from 'redrive/memory'
const require = createRequire(import.meta.url)
console.log(JSON.stringify([require('redrive').RetryQueue === RetryQueue, require('redrive/memory').memoryStore === memoryStore]))
`

export interface Consumer extends Disposable {
  readonly folder: string
  /** Runs this very Node on a script of the project and gives what it printed, read as JSON. */
  node(script: string, ...args: readonly string[]): Promise<unknown>
  /** Runs another program in the project and gives what it printed; rejects with that where the program fails. */
  run(program: string, ...args: readonly string[]): Promise<string>
  /** Paths of all files under a folder of the project. */
  files(folder: string): string[]
}

/** What a program of a project sees: no NODE_ENV and whatever else a test runner sets, and nobody is told that it was run. */
export const plainEnv = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  WRANGLER_SEND_METRICS: 'false',
  NEXT_TELEMETRY_DISABLED: '1',
  DENO_NO_UPDATE_CHECK: '1',
})

/** `parent`: the folder in which it is made. */
export function consumer(files: Readonly<Record<string, string>>, parent: string = tmpdir()): Consumer {
  const folder = mkdtempSync(join(parent, 'redrive-consumer-'))
  cpSync(unpacked, join(folder, 'node_modules', 'redrive'), { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  const run = async (program: string, ...args: readonly string[]) => {
    const options = { cwd: folder, env: plainEnv() }
    const { stdout } = await promisify(execFile)(program, args, options).catch((error) => {
      throw new Error(`${error.message}\n${error.stdout}`, { cause: error })
    })
    return stdout
  }
  return {
    folder,
    run,
    node: async (script, ...args) => JSON.parse(await run(process.execPath, script, ...args)),
    files: (name) => readdirSync(join(folder, name), { recursive: true }).map(String),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Installs another package of ours, with what its manifest declares and nothing else. */
export function install(project: Consumer, name: PackageName): void {
  cpSync(unpackedOf(name), join(project.folder, 'node_modules', name), { recursive: true })
  const { dependencies = {} } = JSON.parse(readFileSync(join(unpackedOf(name), 'package.json'), 'utf8'))
  for (const each of Object.keys(dependencies)) if (each !== 'redrive') link(project, each)
}

/** Installs a package of this repository's own, or one of `modules`: a peer that the user has. */
export function link({ folder }: Consumer, name: string, modules: string = join(root, 'node_modules')): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(modules, name), place)
}

/** The name of a package of this repository's own with its version. */
export function versioned(title: string, name: string, modules: string = join(root, 'node_modules')): string {
  const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as { version: string }
  return `${title} ${version}`
}

/** What trying an example leaves in its folder. */
export const isMade = (path: string): boolean =>
  /(^|\/)(node_modules|dist|\.next|\.wrangler|package-lock\.json)(\/|$)/.test(path)

/** The example's own files, as they lie in examples/. */
export function copyExample(name: string, { folder }: Consumer): void {
  const from = join(root, 'examples', name)
  cpSync(from, folder, { recursive: true, filter: (path) => !isMade(path.slice(from.length)) })
}
