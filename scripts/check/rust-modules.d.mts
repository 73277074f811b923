import type { Graph } from './layers.mjs'
export function rustGraph(files: ReadonlyMap<string, string>): { graph: Graph; faults: string[] }
export function orderFaults(graph: Graph): string[]
export function rustImports(): Graph
export function rustFaults(): string[]
