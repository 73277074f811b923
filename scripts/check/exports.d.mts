export function unusedExports(folder?: string): Promise<string[]>
export function checkExports(): Promise<void>
