// An example's folder as its reader copies it, and the server that its README names.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { FaultOptions, FlakyReport } from '../servers/start.mjs'
import { consumer, copyExample, link } from './consumer.ts'
import { root } from './pack.ts'

export const examples: string = join(root, 'examples')
export const vite: string = join(root, 'node_modules', 'vite', 'bin', 'vite.js')

export interface Served {
  readonly url: string
  /** How often a path was called, under how many keys, and what came of it. */
  seen(): Promise<readonly { readonly attempts: number; readonly keys: number; readonly effects: number }[]>
  configure(faults: FaultOptions): Promise<unknown>
}

/** The example's folder, with the package, and these, in its node_modules. */
export function copyOf(name: string, peers: readonly string[] = [], modules?: string): string {
  const project = consumer({})
  onTestFinished(() => project[Symbol.dispose]())
  copyExample(name, project)
  for (const peer of peers) link(project, peer, modules)
  return project.folder
}

/** A program in that folder with no environment but the one every shell has. */
export const start = (folder: string, ...args: readonly string[]): ChildProcess => startWith({}, folder, ...args)

/** The same, with these variables. */
export function startWith(
  variables: Readonly<Record<string, string>>,
  folder: string,
  ...args: readonly string[]
): ChildProcess {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...variables }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'close')
  })
  return child
}

/** `node ../serve.mjs`, as the READMEs have it. */
export async function serve(folder: string): Promise<Served> {
  const { stdout } = start(folder, join(examples, 'serve.mjs'), '0')
  if (!stdout) throw new Error('a pipe was asked for')
  const [url]: string[] = await once(createInterface({ input: stdout }), 'line')
  const report = async (): Promise<FlakyReport> => (await fetch(`${url}/report`)).json()
  return {
    url: `${url}`,
    async seen() {
      const { perIntent } = await report()
      return perIntent.map(({ attempts, keys, effects }) => ({ attempts, keys: keys.length, effects }))
    },
    configure: (faults: FaultOptions) => fetch(`${url}/config`, { method: 'POST', body: JSON.stringify(faults) }),
  }
}
