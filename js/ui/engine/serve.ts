export function serve(_: unknown): void {
  throw new Error('not yet')
}
