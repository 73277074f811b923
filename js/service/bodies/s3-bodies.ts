/** Bodies in a bucket. One whose task was never stored is left to a lifecycle rule of the bucket (docs/service-sending.md). */

import { type BodyStore, Meter } from './body-store.ts'
import { type S3Options, s3Bucket } from './s3-bucket.ts'

/** @throws TypeError for an address that is none */
export function s3Bodies(address: string, options: S3Options): BodyStore {
  // its place is none of what tenants are told
  const objects = s3Bucket(address, 'the store of bodies', options)
  const { bucket, prefix } = objects
  return {
    shown: `s3://${bucket}/${prefix}`,
    async put(key, body, { bytes, contentType = 'application/octet-stream' }) {
      const meter = new Meter()
      const headers = { 'content-length': `${bytes}`, 'content-type': contentType }
      await objects.put(prefix + key, meter.through(body), headers)
      return { ref: key, sha256: meter.sha256() }
    },
    open: (ref) => objects.get(prefix + ref),
    has: async (ref) => (await objects.head(prefix + ref)) !== undefined,
    delete: (ref) => objects.delete(prefix + ref),
    close: () => objects.close(),
  }
}
