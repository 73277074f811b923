/**
 * Judges a run by the server's report alone: what a client says about itself proves nothing about the wire.
 */

/** With fewer failures than this the run proves nothing. */
export const leastInjectedShare = 0.15

export const faultLabels = {
  unavailable: '503',
  unavailable_retry_after: '503 with Retry-After',
  too_many_requests: '429 with Retry-After',
  reset_before: 'reset before the effect',
  reset_after: 'reset after the effect',
  refused: '403',
}

export const percent = (share) => `${(share * 100).toFixed(1)}\u00a0%`

/**
 * `isStoreKilled`: processes outlive their store and settle late, so an attempt for what is done already takes no place.
 * @returns what must hold, each with what was found; `ok` when all of it does.
 */
export function judge(report, { calls, accepted, concurrency, isStoreKilled = false }) {
  const { keysPerIntent: keys, effectsPerIntent: effects, retryAfter, inFlight, injected } = report
  const atOnce = isStoreKilled ? inFlight.placesMax : inFlight.queueMax
  const checks = [
    check('intents seen', report.intents, report.intents === calls, `all ${calls}`),
    check('keys per intent', range(keys), keys.min === 1 && keys.max === 1, 'exactly 1'),
    check('effects per intent', range(effects), effects.min === 1 && effects.max === 1, 'exactly 1'),
    check('accepted', accepted, accepted === calls, `all ${calls}`),
    check('Retry-After undercut', `${retryAfter.undercut} of ${retryAfter.sent}`, retryAfter.undercut === 0, 'never'),
    check('most at once by the queue', atOnce, atOnce <= concurrency, `at most ${concurrency}`),
    check(
      'injected failures',
      percent(injected.share),
      injected.share >= leastInjectedShare,
      `at least ${percent(leastInjectedShare)}`,
    ),
  ]
  return { ok: checks.every(({ ok }) => ok), checks, offenders: [...new Set([...keys.notOne, ...effects.notOne])] }
}

/** The figures behind the verdict, for a table: label, number, and a remark. */
export function figures(report) {
  const { injected } = report
  return [
    ['intents', report.intents, ''],
    ['attempts', report.attempts, ''],
    ['retries', report.retries, ''],
    ['injected failures', injected.total, `${percent(injected.share)} of the answers`],
    ...Object.keys(faultLabels).flatMap((kind) =>
      injected.byKind[kind] ? [[`  ${faultLabels[kind]}`, injected.byKind[kind], '']] : [],
    ),
    ['answered from the key', report.outcomes.repeated ?? 0, 'the effect was there, the first answer was lost'],
    ...(report.afterDone > 0 ? [['sent although it was done', report.afterDone, 'by one that had not heard']] : []),
    ['most at once', report.inFlight.max, 'first attempts included'],
  ]
}

const check = (label, found, ok, wanted) => ({ label, found: String(found), ok, wanted })
const range = ({ min, max }) => (min === max ? min : `${min} to ${max}`)
