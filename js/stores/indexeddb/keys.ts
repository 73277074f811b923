/** Keys and ranges of them. */

/** In place of null, which is no key; less than any name. */
const NOBODY = 0

/** The principal of a task, or its home, as a part of a key. */
export type Name = string | typeof NOBODY

/** Whether it is what an index takes for one. */
export const isName = (name: unknown): name is Name => typeof name === 'string' || name === NOBODY
export const nameOf = (name: string | null): Name => name ?? NOBODY
export const shownName = (name: Name): string | null => (name === NOBODY ? null : name)

/** A name for what is a principal's own: one key, or one order, of two principals is two. */
export const ownName = (principal: Name, name: string | null): string => JSON.stringify([principal, name])

/** Keys that begin with `parts`; where `to` is given, those that go on with what is no more than it. */
export function within(parts: readonly IDBValidKey[], to?: IDBValidKey): IDBKeyRange {
  // an array comes after everything else
  return IDBKeyRange.bound([...parts], [...parts, ...(to === undefined ? [[]] : [to, []])])
}

/*
 * Whole indexes of one field. Never null, nor a range without a lower end: WebKit (2.50) then gives rows too that are in no
 * index, because their field is null.
 */
export const everyName = (): IDBKeyRange => IDBKeyRange.lowerBound('')
export const everyTime = (upTo: number = Number.POSITIVE_INFINITY): IDBKeyRange =>
  IDBKeyRange.bound(Number.NEGATIVE_INFINITY, upTo)

/** Keys that begin with `parts` and go on with more than `from`. */
export function beyond(parts: readonly IDBValidKey[], from: IDBValidKey): IDBKeyRange {
  return IDBKeyRange.bound([...parts, from, []], [...parts, []])
}
