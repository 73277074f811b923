/** The error of a task that was given up: what happened, why, and what to do next. One text for each reason. */

import type { ExhaustedReason, RetryTask } from '../api/task.ts'
import { ExhaustedError } from '../api/task-errors.ts'
import { FAILED_GET, HIDDEN_REDIRECT, STORED_FAILURE, UNEXPECTED } from './history.ts'

const LISTED = '; if the status is transient for this server, list it in retryableStatusCodes'
const PUT_BACK = 'put it back with deadLetters.redrive(taskId)'

/** For each reason its cause, and the remedy. */
const WORDS: Readonly<Record<ExhaustedReason, readonly [cause: string, remedy: string]>> = {
  max_attempts: ['its policy allows no further attempt', `raise maxAttempts, or ${PUT_BACK} once the server is well`],
  total_budget: [
    'the next attempt could not end within the totalBudgetMs of its policy',
    `raise totalBudgetMs, or ${PUT_BACK} once the server is well`,
  ],
  wait_exceeded: [
    'the next attempt would have come later than its caller waits (waitMs)',
    "raise waitMs, or do not wait: queue.enqueue(...) or mode: 'defer'",
  ],
  not_retryable: ['another attempt would end the same way, or might do harm', 'correct the request'],
  key_expired: [
    'its idempotency key is older than keyTtlMs, so the server may have forgotten it and do the work twice',
    'raise keyTtlMs if the server remembers keys for longer, or put it back with acceptDuplicateRisk: true',
  ],
  key_conflict: [
    'the server refuses the request as it is, or knows its idempotency key from another request',
    'correct the request, or make the call again with a key of its own',
  ],
  expired: ['the next attempt would have come after its expiresAt', 'make the call again if it is still wanted'],
  retry_after_too_long: [
    'the server asked for a longer wait than its policy allows',
    `raise maxRetryAfterMs, or ${PUT_BACK} later`,
  ],
  outcome_unknown: [
    'an attempt was cut off, and the request may not be repeated without knowing how it ended',
    'ask the server whether the work was done before you send it again',
  ],
  vetoed: ['beforeAttempt or shouldRetry said no', `${PUT_BACK} when it may be sent`],
  body_missing: ['its stored body is gone', 'make the call again'],
  target_refused: [
    'the service may not send to its target',
    'have its operator permit it, or make the call again with another target',
  ],
  circuit_open: [
    'the circuit of its origin is open, and its caller waits for an answer',
    "make the call again later, or do not wait: queue.enqueue(...) or mode: 'defer'",
  ],
  closed: [
    'its queue was closed while its caller waited',
    `make the call again, or ${PUT_BACK}; a call by queue.enqueue(...) or mode: 'defer' outlives a queue that is durable`,
  ],
}

const DIRECTLY = 'send it to the address that answers, or have the server answer without a redirect'
/** Cause and remedy of answers that ended the task by more than their status, by the words on them in its log. */
const ENDINGS: Readonly<Record<string, (typeof WORDS)[ExhaustedReason]>> = {
  [HIDDEN_REDIRECT]: ['its server may have done the work', DIRECTLY],
  [FAILED_GET]: [`${FAILED_GET}, and its server may have done the work`, DIRECTLY],
  [STORED_FAILURE]: [STORED_FAILURE, `make the call again with a new key, or ${PUT_BACK} later`],
  [UNEXPECTED]: [UNEXPECTED, `correct policy.expect, or ${PUT_BACK}`],
}

/** `what`: method and target, without the query. `ending`: the words in its log on the last attempt. */
export function givenUp(
  what: string,
  reason: ExhaustedReason,
  task: RetryTask,
  responseStatus: number | null,
  ending: string | null = null,
): ExhaustedError {
  const { attemptNumber: attempts, taskId, principal } = task
  // a reason of a later version has no words here
  const isHidden = ending === HIDDEN_REDIRECT
  const [cause, remedy] = ENDINGS[ending ?? ''] ?? WORDS[reason] ?? [reason, PUT_BACK]
  const left = reason === 'wait_exceeded' && principal !== null ? ', or another principal is there (setPrincipal)' : ''
  const made = attempts === 1 ? 'one attempt' : `${attempts} attempts`
  const answered = `the last answered with ${isHidden ? HIDDEN_REDIRECT : responseStatus}`
  const unanswered = ending === null ? 'the last without an answer' : `the last ended with '${ending}'`
  const last = responseStatus === null && !isHidden ? unanswered : answered
  const more = responseStatus !== null && cause === WORDS.not_retryable[0] ? LISTED : ''
  const after = attempts > 0 ? `after ${made}, ${last}` : 'before it was sent'
  const message = `${what} was given up ${after} (${reason}): ${cause}${left}. It is kept as dead letter ${taskId}; ${remedy}${more}`
  return new ExhaustedError(reason, message, { task, attempts, responseStatus })
}
