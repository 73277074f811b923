export type Graph = ReadonlyMap<string, ReadonlySet<string>>
export function violations(
  graph: Graph,
  order: readonly (readonly string[])[],
  folder: string,
  runtimeGraph?: Graph,
): string[]
export function checkLayers(): void
