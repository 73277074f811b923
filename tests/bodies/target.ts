/** A target that hashes what it is sent and keeps none of it. */

import { createHash } from 'node:crypto'
import { onLoopback } from '../loopback.ts'

export interface Heard {
  readonly key: string | undefined
  readonly bytes: number
  readonly sha256: string
  /** All of it came. */
  readonly isWhole: boolean
}

export async function target(): Promise<{ readonly url: string; readonly heard: readonly Heard[] }> {
  const heard: Heard[] = []
  const origin = await onLoopback((request, response) => {
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (part: Buffer) => {
      bytes += part.length
      hash.update(part)
    })
    request.on('error', () => {})
    request.on('close', () => {
      const { complete: isWhole, headers } = request
      heard.push({ key: headers['idempotency-key'] as string | undefined, bytes, sha256: hash.digest('hex'), isWhole })
      if (isWhole) response.end()
    })
  })
  return { url: `${origin}/`, heard }
}
