/** The program `redrive` once it is known that this Node can run it: gives its command line to `main`, and ends with the code that comes back. */

import { readFileSync } from 'node:fs'
import process from 'node:process'
import { systemClock } from 'redrive/internal'
import { main } from './cli.ts'
import type { Serve } from './serving.ts'

/** More of a log than its reader has taken is dropped. */
const MOST_UNREAD = 1024 * 1024
/** A service that has ended waits so long for that reader. */
const LAST_LINES_MS = 1_000

/** Beside the program lies the manifest of its package; in a checkout there is none. */
function version(): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'))
    return (manifest as { readonly version?: string }).version
  } catch {
    return undefined
  }
}

/** A reader that has seen enough, as `head`, closes the pipe. */
function readerLeft(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}

/** A service goes on without its log, and ends without it. */
const startService: Serve = async (settings, host) => {
  // until the service listens for it; by default it ends the process
  process.on('SIGHUP', () => {})
  const { stdout, stderr } = process
  let isSaid = false
  const drop = ({ message }: { readonly message: string }): void => {
    if (!isSaid) stderr.write(`redrive: the log cannot be written (${message}): lines are lost\n`)
    isSaid = true
  }
  stdout.off('error', readerLeft).on('error', drop)
  stderr.on('error', () => {})
  const write = (text: string): void => {
    if (stdout.writableLength > MOST_UNREAD) drop({ message: 'its reader does not read' })
    else stdout.write(text)
  }
  const { serve } = await import('../serve.ts')
  const code = await serve(settings, { ...host, io: { ...host.io, stdout: { write } } })
  if (stdout.writableLength > 0) systemClock.after(LAST_LINES_MS, () => process.exit(code), true)
  return code
}

/** The first process of a container gets no signal that it does not listen for, and a service does not before it is ready. */
function listenAsFirst(): void {
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(code)
    })
  }
}

export async function program(): Promise<void> {
  if (process.pid === 1) listenAsFirst()
  process.stdout.on('error', readerLeft)
  const io = {
    argv: process.argv.slice(2),
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    isTTY: process.stdout.isTTY === true,
    columns: process.stdout.columns,
    errorColumns: process.stderr.isTTY ? process.stderr.columns : undefined,
    cwd: process.cwd(),
    version: version(),
  }
  process.exitCode = await main(io, startService)
}
