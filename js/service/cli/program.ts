/** The program `redrive` once it is known that this Node can run it: gives its command line to `main`, and ends with the code that comes back. */

import { readFileSync } from 'node:fs'
import process from 'node:process'
import { main } from './cli.ts'

/** Beside the program lies the manifest of its package; in a checkout there is none. */
function version(): string | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'))
    return (manifest as { readonly version?: string }).version
  } catch {
    return undefined
  }
}

export async function program(): Promise<void> {
  // a reader that has seen enough, as `head`, closes the pipe
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(0)
  })

  process.exitCode = await main({
    argv: process.argv.slice(2),
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    isTTY: process.stdout.isTTY === true,
    columns: process.stdout.columns,
    errorColumns: process.stderr.isTTY ? process.stderr.columns : undefined,
    cwd: process.cwd(),
    version: version(),
  })
}
