/** An error's message, with the code of its cause, or else its words: they say more than Node's "fetch failed". */
export function errorText(error: unknown): string {
  if (!(error instanceof Error) && !(error instanceof DOMException)) return String(error)
  const { code, message } = (error.cause ?? {}) as { code?: unknown; message?: unknown }
  const cause = [code, message].find((word) => typeof word === 'string' && word !== '' && word !== error.message)
  return cause ? `${error.message} (${cause})` : error.message
}

/** Words for an error whose own message may hold a secret. */
export function unsaid(error: unknown): string {
  const name = error instanceof Error ? String(error.name).slice(0, 64) : typeof error
  return `${name}, whose message may hold a secret and is not shown`
}
