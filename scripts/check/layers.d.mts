export type Graph = ReadonlyMap<string, ReadonlySet<string>>
export function circles(graph: Graph): string[][]
export function violations(graph: Graph, order: readonly (readonly string[])[], root: string): string[]
export function checkLayers(): void
