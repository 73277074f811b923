/** What an error says, with Node's cause code, which says more than "fetch failed". */
export function errorText(error: unknown): string {
  if (!(error instanceof Error) && !(error instanceof DOMException)) return String(error)
  const code = (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? `${error.message} (${code})` : error.message
}

/** In place of words that may hold a secret. */
export function unsaid(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error
  return `${name}, whose message may hold a secret and is not shown`
}
