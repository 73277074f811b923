export function oldestNode(): string
