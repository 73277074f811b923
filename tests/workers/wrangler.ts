/** Cloudflare's own tool on the example as it lies in examples/, installed from the tarball. It needs no account and no network here. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Consumer, consumer, copyExample } from '../packaging/consumer.ts'
import { root } from '../packaging/pack.ts'

const program = join(root, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
const READY_MS = 45_000

/** Nothing of this machine's user, no questions, no statistics. */
const environment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH ?? '',
  HOME: join(folder, 'home'),
  CI: '1',
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
})

/** A copy of the example that has installed the package. */
export function exampleProject(): Consumer {
  const project = consumer({})
  copyExample('cloudflare-worker', project)
  return project
}

/** Runs to its end; what it printed. */
export async function wrangler({ folder }: Consumer, ...args: readonly string[]): Promise<string> {
  const given = { cwd: folder, env: environment(folder) }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args], given)
  return stdout + stderr
}

export interface Dev extends AsyncDisposable {
  readonly url: string
}

/** `wrangler dev` on a free port of loopback. */
export async function wranglerDev({ folder }: Consumer, vars: Readonly<Record<string, string>>): Promise<Dev> {
  const given = Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}:${value}`])
  const args = ['dev', '--local', '--ip', '127.0.0.1', '--port', '0', '--show-interactive-dev-session=false', ...given]
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    env: environment(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    return { url: await readyOn(child), [Symbol.asyncDispose]: () => end(child) }
  } catch (error) {
    await end(child)
    throw error
  }
}

function readyOn(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const late = setTimeout(
      () => reject(new Error(`wrangler dev is not ready after ${READY_MS} ms: ${said}`)),
      READY_MS,
    )
    const settle = (work: () => void): void => {
      clearTimeout(late)
      work()
    }
    const hear = (chunk: Buffer): void => {
      said += chunk
      const url = /Ready on (http:\/\/127\.0\.0\.1:\d+)/.exec(said)?.[1]
      if (url) settle(() => resolve(url))
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('exit', (code) => settle(() => reject(new Error(`wrangler dev ended with ${code}: ${said}`))))
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
