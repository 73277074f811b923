/**
 * A module's file beside the code. In Node and Bun it is there unless a bundler took the code elsewhere; to read and compile it takes a
 * few milliseconds, less than the text that travels to pages.
 */

interface Server {
  readonly process: { getBuiltinModule(name: string): { readFileSync(file: URL): Uint8Array<ArrayBuffer> } }
}

/** `file` from the folder of `base`, if it is the one of `length` bytes that was built with this code; undefined: it is not there. */
export function readBeside(file: string, base: string, length: number): WebAssembly.Module | undefined {
  try {
    // Deno would ask its user whether the file may be read
    if ('Deno' in globalThis) return undefined
    const bytes = (globalThis as unknown as Server).process
      .getBuiltinModule('node:fs')
      .readFileSync(new URL(file, base))
    // where a bundler put this code, another version's file may lie
    return bytes.length === length ? new WebAssembly.Module(bytes) : undefined
  } catch {
    return undefined
  }
}
