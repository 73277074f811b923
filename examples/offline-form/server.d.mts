import type { Server } from 'node:http'

/** `latencyMs`: how long an answer takes. */
export function formServer(options?: { readonly latencyMs?: number }): Server
