import type { Graph } from './layers.d.mts'
export interface House {
  readonly folders: readonly { readonly name: string; readonly files: number; readonly lines: number }[]
  readonly arrows: ReadonlyMap<string, number>
}
export function houseOf(graph: Graph, order: readonly (readonly string[])[], linesOf: (module: string) => number): House
export function draw(house: House): string
export function structureOf(svg: string): { folders: string[]; arrows: string[] }
export function stale(svg: string, house: House): string[]
export function checkHouse(): void
