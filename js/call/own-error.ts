/**
 * Tells a mistake in the caller's own code from a lost connection, where both are errors that `fetch` throws. What is not known as
 * a mistake counts as lost: to try again in vain costs a request, not to try again loses one.
 */

/** Errors that the engine throws for code that is wrong, and that no network throws; and those of mocks for a call that no test expects. */
const MISTAKES: ReadonlySet<string | undefined> = new Set([
  ...['ReferenceError', 'RangeError', 'URIError'],
  // undici's MockAgent, nock (for a host, then for a path), MSW 2
  ...['MockNotMatchedError', 'NetConnectNotAllowedError', 'InternalError'],
])

/** Codes of Node and undici for arguments that they do not take. */
const REFUSED =
  /^(ERR_INVALID_\w+|ERR_MISSING_ARGS|ERR_HTTP2_(INVALID_(HEADER|CONNECTION|PSEUDO)\w*|PSEUDOHEADER\w*|HEADER_SINGLE_VALUE)|ERR_NOCK_NO_MATCH|UND_ERR_(INVALID_ARG|NOT_SUPPORTED|REQ_CONTENT_LENGTH_MISMATCH|ABORTED))$/

/** Words of a TypeError: of V8, SpiderMonkey and JavaScriptCore for a wrong program, then of Chromium, Firefox, workerd and undici for wrong arguments. */
const WORDS = [
  / is not (a function|iterable|a constructor|an object|defined|a valid)/,
  /^(Cannot (read|set|convert|access|destructure|assign|use)|Assignment to constant|Class constructor|Converting circular)/,
  /^(can't (access|convert|define|assign)|cyclic object value|.+ is (undefined|null)$)/,
  /^Failed to (construct|execute|parse)/,
  /^\w+\.fetch: /,
  /^(Fetch API cannot load|Invalid (URL|header)|Illegal invocation|Incorrect type)/,
  // redirects without an end: another request would follow them, too
  /^more than \d+ redirects/,
]

/** The causes that undici gives for a URL that it does not send to, for redirects that it does not follow, and for an answer that is not the one asked for. */
const REFUSED_URL =
  /^(bad port|unknown scheme|url scheme must|invalid (url|method|path)|unexpected redirect|redirect count exceeded|integrity mismatch)/i

/** Whether an error is one of the caller's own making, which no repeat mends. */
export function isOwnError(error: unknown): boolean {
  const given = (error ?? {}) as { readonly cause?: unknown }
  return [given, given.cause].some((one) =>
    isMistake((one ?? {}) as { name?: string; code?: string; message?: string }),
  )
}

function isMistake({ name, code, message = '' }: { name?: string; code?: string; message?: string }): boolean {
  if (MISTAKES.has(name) || REFUSED.test(code ?? '')) return true
  if (name === 'TypeError' && !code && WORDS.some((words) => words.test(message))) return true
  return name === 'Error' && REFUSED_URL.test(message)
}
