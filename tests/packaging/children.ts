// Programs that keep running beside a test: servers of frameworks and bundlers.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Consumer, plainEnv } from './consumer.ts'

export interface Running extends AsyncDisposable {
  /** What it has printed so far. */
  readonly output: () => string
}

/** Starts Node on a script in the project and waits until it has printed `sign`; rejects with what it printed instead. */
export async function started(
  project: Consumer,
  sign: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  // a group of its own, so that what it starts ends with it
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: project.folder,
    env: { ...plainEnv(), ...env },
    stdio: [...stdio],
    detached: true,
  })
  const closed = once(child, 'close')
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: unknown) => {
      output += String(chunk)
      if (output.includes(sign)) resolve()
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    closed.then(() => reject(new Error(`${args.join(' ')} ended: ${output}`)), reject)
  })
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid)
      await closed
    },
  }
}
