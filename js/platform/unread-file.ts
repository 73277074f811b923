/** Names the file of a body that could not be read: the platform's own error does not, and a form may hold many. It comes with the checks. */

/** Throws for a file that was changed or deleted since it was picked. Otherwise the error of reading the body is what there is to tell. */
export async function assertFilesRead(body: unknown, cause: unknown): Promise<void> {
  const parts: readonly unknown[] = body instanceof FormData ? [...body.values()] : [body]
  for (const file of parts) {
    if (!(file instanceof File)) continue
    const reader = file.stream().getReader()
    const isRead = await reader.read().then(
      () => true,
      () => false,
    )
    // one that has broken off refuses
    reader.cancel().catch(() => {})
    if (isRead) continue
    const message = `body: the file '${file.name}' was changed or deleted since it was picked: pick it again; nothing was sent`
    throw Object.assign(new DOMException(message, 'NotReadableError'), { cause })
  }
}
