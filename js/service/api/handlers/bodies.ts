/** POST /bodies: bytes on their way to the store of bodies. They are never held here. */

import { BodyStoreError } from '../../bodies/body-store.ts'
import type { Exchange, Reply } from '../exchange.ts'
import { Problem } from '../problem.ts'

export async function uploadBody(exchange: Exchange): Promise<Reply> {
  const { context, caller, headers, stream, newId } = exchange
  try {
    const { bodies } = context
    if (!bodies)
      throw new Problem('no-body-store', 'the service was started without --bodies; send the body in its task')
    const bytes = lengthOf(headers, bodies.limits.maxUploadBytes)
    const contentType = headers.get('content-type')
    const about = { bytes, ...(contentType !== null && { contentType }) }
    const uploaded = await bodies.upload(newId(), caller.tenant, partsOf(stream), about)
    return { status: 201, json: uploaded }
  } catch (error) {
    // nothing more of it is wanted
    await stream?.cancel().catch(() => {})
    if (error instanceof BodyStoreError) throw new Problem('store-unavailable', `${error.message}; nothing was kept`)
    throw error
  }
}

/** Throws 'length-required', 'body-too-large'. */
function lengthOf(headers: Headers, most: number): number {
  const given = headers.get('content-length')
  if (given === null || !/^\d{1,15}$/.test(given)) {
    throw new Problem('length-required', 'send Content-Length: a store of bodies has to know the length at the start')
  }
  const bytes = Number(given)
  if (bytes <= most) return bytes
  throw new Problem('body-too-large', `the body has ${bytes} bytes, more than ${most} (--max-upload)`)
}

async function* partsOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (!stream) return
  try {
    // what is not read to its end is cancelled by the handler
    for await (const part of stream.values({ preventCancel: true })) yield part
  } catch {
    throw new Problem('bad-request', 'the body broke off before its end')
  }
}
