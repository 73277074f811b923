/** Runs scripts that mount a small disk, in a namespace of their own, which alone has what is mounted there. */

import { execFile, spawnSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Takes all the room there is on the disk, as another program may. */
export function fillDisk(path: string): void {
  const file = openSync(path, 'a')
  const block = Buffer.alloc(4096, 1)
  try {
    for (;;) writeSync(file, block)
  } catch {
    // that was the last of it
  } finally {
    closeSync(file)
  }
}

/** Users other than root become it, where they may by `sudo`: some systems let them mount nothing otherwise. */
function inNamespace(): readonly string[] {
  if (process.getuid?.() === 0) return ['unshare', '--mount']
  if (spawnSync('sudo', ['-n', 'true']).status === 0) return ['sudo', '-n', 'unshare', '--mount']
  return ['unshare', '--map-root-user', '--mount']
}

/** What the script has seen. */
export async function onSmallDisk(
  script: URL,
  folder: string,
  ...words: readonly string[]
): Promise<Record<string, unknown>> {
  const [command = '', ...given] = [...inNamespace(), process.execPath, fileURLToPath(script), folder, ...words]
  const env = { ...process.env, NODE_NO_WARNINGS: '1' }
  const { stdout } = await promisify(execFile)(command, given, { env, timeout: 60_000 })
  return JSON.parse(stdout)
}
