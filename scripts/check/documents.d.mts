export function missing(
  path: string,
  text: string,
  there: { read: (path: string) => string | undefined; scripts: readonly string[] },
): string[]
export function checkDocuments(): void
