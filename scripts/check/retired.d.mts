export function retiredNames(path: string, text: string): string[]
export function vagueComments(path: string, text: string): string[]
export function refusedWords(glossary: string): { readonly use: string; readonly pattern: RegExp }[]
export function refusedIn(path: string, text: string, refused: ReturnType<typeof refusedWords>): string[]
export function checkRetired(): void
