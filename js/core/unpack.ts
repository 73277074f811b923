/** Makes a module of the text that it travels as. */

/** The content of `packed.js`: base64 of the module's gzip, and the length of the module. */
export type Packed = readonly [base64: string, length: number]

/** The bytes of the module; the platform unzips them beside the event loop. */
export function unpack([base64]: Packed): Promise<ArrayBuffer> {
  const text = atob(base64)
  const zipped = new Uint8Array(text.length)
  for (let i = 0; i < zipped.length; i++) zipped[i] = text.charCodeAt(i)
  return new Response(new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
}
