export function retiredNames(path: string, text: string): string[]
export function vagueComments(path: string, text: string): string[]
export function checkRetired(): void
