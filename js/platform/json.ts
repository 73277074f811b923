/** Copies of what JSON can hold. */

/** Freezes a value of JSON and all in it. */
function freeze<T>(part: T): T {
  if (typeof part === 'object') for (const inner of Object.values(Object.freeze(part) ?? [])) freeze(inner)
  return part
}

/** A copy of an object of JSON values, without those that are undefined, which none can change. */
export const frozenCopy = <T extends object>(given: T): T => freeze(JSON.parse(JSON.stringify(given)))
