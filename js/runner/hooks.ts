/** Asks the user's `credentials` and `beforeAttempt` before a retry, inside a time limit that keeps a lease useful. */

import type { AttemptContext, RetryTask } from '../api/task.ts'
import { OUTCOME_CREDENTIALS_FAILED, OUTCOME_VETOED } from '../core/codes.ts'
import { within } from '../platform/clock.ts'
import { unsaid } from '../platform/error-text.ts'
import type { QueueContext } from './context.ts'

const HOOK_MS = 5_000

/** `outcome` is set when the attempt must not be sent. */
export interface Asked {
  readonly overlay: Headers | null
  readonly outcome?: number
}

/** `words`: what an error says, without secrets. */
export async function askHooks(
  host: QueueContext,
  task: RetryTask,
  context: AttemptContext,
  words: (error: unknown, overlay: Headers | null) => string,
): Promise<Asked> {
  const { credentials, beforeAttempt, clock } = host.settings
  let overlay: Headers | null = null
  if (credentials) {
    try {
      const given = new Promise<HeadersInit>((resolve) => resolve(credentials(task, context))).catch(withoutWords)
      overlay = readHeaders(await within(clock, HOOK_MS, 'credentials()', given))
    } catch (error) {
      const message = `credentials() failed (${words(error, overlay)}): the attempt was given back and is tried again later`
      host.degraded('credentials_failed', message, 'credentials')
      return { overlay: null, outcome: OUTCOME_CREDENTIALS_FAILED }
    }
  }
  if (beforeAttempt) {
    try {
      const given = new Promise<boolean>((resolve) => resolve(beforeAttempt(task, context)))
      if ((await within(clock, HOOK_MS, 'beforeAttempt()', given)) === false)
        return { overlay, outcome: OUTCOME_VETOED }
    } catch (error) {
      host.degraded(
        'hook_threw',
        `beforeAttempt() failed (${words(error, overlay)}): the attempt was made`,
        'beforeAttempt',
      )
    }
  }
  return { overlay }
}

/** Who looks up credentials knows more of them than can be looked for in what it says. */
function withoutWords(error: unknown): never {
  throw new Error(unsaid(error))
}

function readHeaders(given: HeadersInit): Headers {
  try {
    return new Headers(given)
  } catch {
    // the platform's message quotes the value, which is a credential (S12)
    throw new TypeError('what it returned is no valid headers')
  }
}
