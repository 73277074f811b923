/** What a turn has found that somebody should hear of. */

import type { Runner } from '../runner.ts'
import type { Turn } from '../stores/store.ts'

export function report({ trimmed, unreadable }: Turn, { host, limits }: Runner): void {
  if (trimmed) {
    const { maxDeadLetters, deadLetterMs } = limits.retention
    const message = `${trimmed} dead letter(s) were purged: more than ${maxDeadLetters}, or older than ${deadLetterMs} ms`
    host.degraded('dead_letters_trimmed', message)
  }
  if (unreadable) {
    const message = `${unreadable} stored task(s) cannot be read by this version: they are kept and left alone`
    host.degraded('unreadable_record', message)
  }
}
