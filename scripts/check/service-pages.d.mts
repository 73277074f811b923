export const servicePages: readonly string[]
export function serviceTables(): Promise<Readonly<Record<string, string>>>
export interface Filled {
  readonly text: string
  readonly found: readonly string[]
  readonly stale: readonly string[]
}
export function filled(text: string, tables: Readonly<Record<string, string>>): Filled
export function checkServicePages(): Promise<void>
