export interface Option {
  readonly name: string
  readonly text: string
  readonly fallback: string
}
export function optionsOf(source: string, name: string): Option[]
export function byHost(fallback: string): Record<'page' | 'Node' | 'Worker' | 'object', string>
export function checkOptions(): void
