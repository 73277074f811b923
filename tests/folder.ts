import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder of its own, gone when the test is over; a browser that has just ended may still write to it. `where`: the folder around it. */
export function freshFolder(where: string = tmpdir()): string {
  const folder = mkdtempSync(join(where, 'redrive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
