/** The rules for what may be shown and stored of a request, beyond the rules of the core: docs/headers.md. */

import { list, oneOf, pattern, type Rules } from './check.ts'

export interface SanitizeOptions {
  /**
   * Header names to keep beyond the default list: `accept`, `accept-*`, `content-type`, `-language`, `-encoding`, `if-*`,
   * `prefer`, `range`, `idempotency-key`, `x-requested-with`, `x-request-id`, `x-correlation-id`, `traceparent`,
   * `tracestate`, `baggage`. Any case; `*` at an end. The deny-list wins, and so does a value that looks like a secret.
   * @default none
   */
  readonly persistHeaders?: readonly string[]
  /** Header names never to keep, beyond the built-in list of credentials. Any case; `*` at an end. @default none */
  readonly denyHeaders?: readonly string[]
  /**
   * The treatment of a task with secrets in its URL. 'memory': it is never stored, and its URL is shown with `REDACTED` in
   * their place. 'strip': it may be stored, without those parameters. 'keep': the URL is stored and shown as it is.
   * @default 'memory'
   */
  readonly urlSecrets?: 'memory' | 'strip' | 'keep'
}

const headerNames = list(pattern('a header name, or * at its end', /^\*?[!#-'+.^-`|~\w-]+\*?$/))

export const SANITIZE_RULES: Rules<SanitizeOptions> = {
  persistHeaders: headerNames,
  denyHeaders: headerNames,
  urlSecrets: oneOf('memory', 'strip', 'keep'),
}
