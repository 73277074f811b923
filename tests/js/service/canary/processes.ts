/** Processes of the program: two services on one file, one with each form of the log, and commands that ask them. All that they write is kept. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('../../../../js/cli.ts', import.meta.url))

export interface Ran {
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

function begin(args: readonly string[], { cwd, env }: Place) {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('REDRIVE_')))
  const child = spawn(process.execPath, [CLI, ...args], { cwd, env: { ...own, ...env } })
  const [out, err]: [Buffer[], Buffer[]] = [[], []]
  child.stdout.on('data', (data: Buffer) => out.push(data))
  child.stderr.on('data', (data: Buffer) => err.push(data))
  return { child, written: () => ({ stdout: Buffer.concat(out), stderr: Buffer.concat(err) }) }
}

export async function command(args: readonly string[], place: Place): Promise<Ran> {
  const { child, written } = begin(args, place)
  await once(child, 'close')
  return written()
}

export class ServiceProcess {
  readonly url: string
  readonly #child: ChildProcess
  readonly #written: () => Ran

  constructor(port: number, args: readonly string[], place: Place) {
    this.url = `http://127.0.0.1:${port}`
    const { child, written } = begin(['serve', '--port', `${port}`, '--log-level', 'debug', ...args], place)
    this.#child = child
    this.#written = written
  }

  get written(): Ran {
    return this.#written()
  }

  async isReady(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.written.stderr}${this.written.stdout}`)
    return await fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  /** Tells it to end; resolves once it has, and with its exit code. */
  async end(): Promise<number | null> {
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'close')
      this.#child.kill('SIGTERM')
      await ended
    }
    return this.#child.exitCode
  }
}
