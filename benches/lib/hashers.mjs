// Who else computes SHA-256: name -> bytes to hexadecimal digits.
import { sha256 as nobleSha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { createSHA256, sha256 as hashWasmSha256 } from 'hash-wasm'

const hex = (digest) => {
  const bytes = new Uint8Array(digest)
  return bytes.toHex?.() ?? bytesToHex(bytes)
}

/** `createHash` is Node's own, which a page does not have. */
export async function hashers({ createHash }) {
  const reused = await createSHA256()
  return {
    'hash-wasm, reused': (bytes) => reused.init().update(bytes).digest('hex'),
    'hash-wasm, one-shot': (bytes) => hashWasmSha256(bytes),
    '@noble/hashes': (bytes) => bytesToHex(nobleSha256(bytes)),
    'crypto.subtle': async (bytes) => hex(await crypto.subtle.digest('SHA-256', bytes)),
    ...(createHash ? { 'node:crypto': (bytes) => createHash('sha256').update(bytes).digest('hex') } : {}),
  }
}
