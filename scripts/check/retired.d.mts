export function retiredNames(path: string, text: string): { name: string; words: string }[]
export function vagueComments(path: string, text: string): string[]
export function checkRetired(): void
