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
