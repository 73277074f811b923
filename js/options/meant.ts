/** Names the option or event that was meant by one that there is not: a typing error, another library's word, or the right one at the wrong depth. */

/** `names`: all that there are, those within others as paths, and as `redrive.x` those of a call, which are not here. */
export function meant(name: string, names: readonly string[]): string {
  // what belongs to one request, or to what calls the queue, given to a queue, a Worker's fetch or an object
  if (names.includes('fetch') && /^(redrive|method|headers|body|cache|signal)$/.test(name)) {
    return `give it with each call: fetch(url, { ${name} })`
  }
  if (/^(base|prefix)ur|^throwH/i.test(name)) return 'Axios and ky have it'
  // words of axios-retry, ky, p-retry and others that look like none of ours
  const word = name
    .slice(0, 64) // it may be as long as a caller likes
    .replace(/^(max)?retr(y|ies)$|^limit$/i, names.includes('retry') ? 'retry' : 'maxAttempts')
    .replace(/^retry(Condition|On)$/, 'shouldRetry')
    .replace(/^(min|base|retry)(Timeout|Delay)$/, 'initialDelayMs')
    .replace(/^(maxTimeout|backoffLimit)$/, 'maxDelayMs')
    .replace(/^timeout(Ms)?$/, 'attemptTimeoutMs')
    .replace(/^user/, 'principal')
    .replace(/^allowH/, 'persistH')
    .replace(/^key$/, 'idempotencyKey')
    .replace(/^mode$/, 'redrive.mode')
    .replace(/^jitter$/, 'jitterType')
    .replace(/threshold$/i, '')
    .replace(/^fail|^error$|^dead|^dlq$/, 'exhausted')
    .toLowerCase()
  let most = 0.14
  let best = ''
  for (const each of names) {
    // a word may be made of a path: idempotencyHeader
    for (const part of [each, ...each.split('.')]) {
      const found = likeness(word, part.toLowerCase())
      if (found > most) {
        most = found
        best = each
      }
    }
  }
  if (best) return `did you mean '${best}'${/^redrive/.test(best) ? ' of a call' : ''}?`
  return `there are ${names.filter((each) => !/\./.test(each)).join(', ')}`
}

/** Pairs of neighbouring letters of one word that the other has, too, as a share of all letters: below 0.5. */
function likeness(a: string, b: string): number {
  const both = [...a].filter((_, i) => i && b.includes(a.slice(i - 1, i + 1)))
  return both.length / (a.length + b.length)
}
