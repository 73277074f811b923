// `--smoke` runs a bench through to its end with next to no work. Its figures then mean nothing; that it ends well does. A page has
// no arguments: a suite is told.
export const smoke = globalThis.process?.argv.includes('--smoke') ?? false

/** `value`, or with `--smoke` only `least`. */
export const orLess = (value, least = 1) => (smoke ? least : value)
