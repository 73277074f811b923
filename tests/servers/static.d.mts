import type { ServerResponse } from 'node:http'

/** `mounts`: URL prefix -> folder. What it gives answers false where it serves nothing. */
export function staticFiles(
  mounts: Readonly<Record<string, string>>,
): (url: URL, response: ServerResponse) => Promise<boolean>
