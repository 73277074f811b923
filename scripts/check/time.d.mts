export function timeUses(path: string, code: string): string[]
export function checkTime(): void
