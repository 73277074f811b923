import type { Packed } from '../../js/core/unpack.ts'

export function pack(wasm: Uint8Array): Promise<Packed>
