/** An error's message, with Node's cause code, which says more than "fetch failed". */
export function errorText(error: unknown): string {
  if (!(error instanceof Error) && !(error instanceof DOMException)) return String(error)
  const code = (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? `${error.message} (${code})` : error.message
}

/** Words for an error whose own message may hold a secret. */
export function unsaid(error: unknown): string {
  const name = error instanceof Error ? String(error.name).slice(0, 64) : typeof error
  return `${name}, whose message may hold a secret and is not shown`
}
