/** Opens the store of bodies that an address names. What speaks S3 comes with it, and only where it is needed. */

import { resolve } from 'node:path'
import type { Clock } from '../../platform/clock.ts'
import type { BodyStore } from './body-store.ts'
import { fileBodies } from './file-bodies.ts'

/** `address`: `file:FOLDER` or `s3://BUCKET/PREFIX?…`. Rejects with a TypeError where it is neither. */
export async function openBodies(
  address: string,
  { clock, cwd }: { readonly clock: Clock; readonly cwd: string },
): Promise<BodyStore> {
  if (address.startsWith('file:')) return fileBodies(resolve(cwd, address.slice('file:'.length)), clock)
  const { s3Bodies } = await import('./s3-bodies.ts')
  return s3Bodies(address, { clock })
}
