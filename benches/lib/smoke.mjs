// `--smoke` runs a bench through to its end with next to no work. Its figures then mean nothing; that it ends well does.
export const smoke = process.argv.includes('--smoke')

/** `value`, or with `--smoke` only `least`. */
export const orLess = (value, least = 1) => (smoke ? least : value)
