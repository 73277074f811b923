/** Opens the store of bodies that an address names. What speaks S3 comes with it, and only where it is needed. */

import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import type { Clock } from 'redrive'
import { systemClock } from 'redrive/internal'
import { type BodyStore, codeOf } from './body-store.ts'
import { fileBodies } from './file-bodies.ts'

/**
 * `address`: `file:FOLDER` or `s3://BUCKET/PREFIX?…`. `cwd`: where a relative folder begins; that of the process, unless given. Rejects with
 * a TypeError where the address is neither, or the folder cannot be made.
 */
export async function openBodies(
  address: string,
  { clock = systemClock, cwd = process.cwd() }: { readonly clock?: Clock; readonly cwd?: string } = {},
): Promise<BodyStore> {
  if (address.startsWith('file:')) {
    const folder = resolve(cwd, address.slice('file:'.length))
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error) => {
      throw new TypeError(`${folder} cannot be a folder of bodies (${codeOf(error)})`)
    })
    return fileBodies(folder, clock)
  }
  if (!address.startsWith('s3:'))
    throw new TypeError(`expected file:FOLDER or s3://BUCKET/PREFIX, got '${address.slice(0, 80)}'`)
  const { s3Bodies } = await import('./s3-bodies.ts')
  return s3Bodies(address, { clock })
}
