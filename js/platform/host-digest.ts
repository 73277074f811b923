/**
 * SHA-256 by the machine's own instructions, which WebAssembly cannot use. Node, Deno and Bun have it in a call that answers at once; pages
 * have it behind a promise only, and a key must exist before its call goes out. Asked for by name at run time: an import would break
 * bundles of pages.
 */

interface NodeLike {
  readonly process?: {
    getBuiltinModule?(
      name: 'node:crypto',
    ): { hash?(algorithm: 'sha256', bytes: Uint8Array, encoding: 'hex'): string } | undefined
  }
}

/** Bytes to 64 hex digits; undefined where there is no such call. */
export function hostDigest(): ((bytes: Uint8Array) => string) | undefined {
  const crypto = (globalThis as NodeLike).process?.getBuiltinModule?.('node:crypto')
  const hash = crypto?.hash
  return hash && ((bytes) => hash('sha256', bytes, 'hex'))
}

/** That call, or the one of pages, which those have that came by https or from this machine; undefined: there is none. */
export function digestOfHost(): ((bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>) | undefined {
  const subtle = globalThis.crypto?.subtle
  return hostDigest() ?? (subtle && (async (bytes) => hex(new Uint8Array(await subtle.digest('SHA-256', bytes)))))
}

const hex = (bytes: Uint8Array): string => bytes.reduce((text, byte) => text + (byte + 256).toString(16).slice(1), '')
