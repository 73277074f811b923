export const targets: readonly string[]
export function read(target: string): Buffer[]
export function encode(inputs: readonly Buffer[]): Buffer
export function decode(bytes: Buffer): Buffer[]
