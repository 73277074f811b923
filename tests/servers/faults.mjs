/**
 * What goes wrong, and when.
 *
 * A flaky server is only useful in a test if its faults can be had again: the fault of a request is a pure function of
 * the seed, the intent and the number of the attempt, never of the order in which different intents happen to arrive.
 * Faults are transient: after `maxFaults` of them an intent gets a proper answer, so that a client which does its job
 * always ends, whatever the seed.
 */

/** Every way in which a request can fail here. `effect`: the work is done although the caller is not told so. */
export const faultKinds = Object.freeze({
  unavailable: { status: 503, retryAfter: false, effect: false },
  unavailable_retry_after: { status: 503, retryAfter: true, effect: false },
  too_many_requests: { status: 429, retryAfter: true, effect: false },
  reset_before: { status: null, retryAfter: false, effect: false },
  reset_after: { status: null, retryAfter: false, effect: true },
  refused: { status: 403, retryAfter: false, effect: false },
})

export const faultDefaults = Object.freeze({
  seed: 1,
  /** Share of the requests that fail, 0..1. */
  share: 0.3,
  /** How the failures divide; whole numbers, 0 turns a kind off. A refusal is final, so it is off unless asked for. */
  weights: Object.freeze({
    unavailable: 8,
    unavailable_retry_after: 1,
    too_many_requests: 1,
    reset_before: 4,
    reset_after: 4,
    refused: 0,
  }),
  maxFaults: 4,
  /** Whole seconds, as the header has them. */
  retryAfterS: 1,
  /** Every answer takes between these two, and a slow one `slowMs` on top. Slow is not a failure. */
  latencyMs: Object.freeze([4, 16]),
  slowShare: 0.05,
  slowMs: 250,
})

/** The weights with which every fault is of this kind. */
export const only = (kind) => Object.fromEntries(Object.keys(faultKinds).map((each) => [each, each === kind ? 1 : 0]))

/** Checks a configuration once and fills in the defaults; a typing error must not pass as "no faults today". */
export function faultConfig(given = {}, base = faultDefaults) {
  const config = { ...base, ...given, weights: { ...base.weights, ...given.weights } }
  for (const name of Object.keys(given)) {
    if (!(name in faultDefaults))
      throw new TypeError(`unknown option '${name}'; known: ${Object.keys(faultDefaults).join(', ')}`)
  }
  for (const [kind, weight] of Object.entries(config.weights)) {
    if (!(kind in faultKinds))
      throw new TypeError(`unknown fault '${kind}'; known: ${Object.keys(faultKinds).join(', ')}`)
    if (!(weight >= 0)) throw new RangeError(`weights.${kind}: expected 0 or more, got ${weight}`)
  }
  for (const name of ['share', 'slowShare']) {
    if (!(config[name] >= 0 && config[name] <= 1)) throw new RangeError(`${name}: expected 0..1, got ${config[name]}`)
  }
  return config
}

/** Decides one request: which fault (null: none) and how long the answer takes. */
export function decide(config, intent, attempt, faultsBefore) {
  const draw = (what) => uniform(`${config.seed}/${intent}/${attempt}/${what}`)
  const [least, most] = config.latencyMs
  const slow = draw('slow') < config.slowShare
  return {
    kind: faultsBefore < config.maxFaults && draw('fault') < config.share ? pick(config.weights, draw('kind')) : null,
    slow,
    latencyMs: least + draw('latency') * (most - least) + (slow ? config.slowMs : 0),
  }
}

function pick(weights, random) {
  const entries = Object.entries(weights)
  let left = random * entries.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [kind, weight] of entries) {
    left -= weight
    if (left < 0) return kind
  }
  return null
}

/** A number in [0, 1) that depends on the text alone: FNV-1a, then a finalizer so that near texts give far numbers. */
function uniform(text) {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
