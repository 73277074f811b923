/** Copies of what JSON can hold. */

/** The value of a JSON text, which none can change. */
const frozenOf = (json: string): unknown => JSON.parse(json, (_, part) => Object.freeze(part))

/** A copy of an object of JSON values, without those that are undefined. */
export const frozenCopy = <T extends object>(given: T): T => frozenOf(JSON.stringify(given)) as T
