/** `test` for tests that begin alike: a body that asks for it is given what `make` makes. */

import { test } from 'vitest'

type Done = void | Promise<void>
type Terms = { readonly timeout?: number }

/** As `test` itself, it is given the terms of a test before its body, if any. */
export function testIn<T>(make: () => T) {
  type World = Awaited<T>
  type Body = (world: World) => Done
  const plain = (title: string, ...given: readonly [Body] | readonly [Terms, Body]) => {
    const [terms, body] = given.length > 1 ? (given as [Terms, Body]) : [{}, given[0] as Body]
    test(title, terms, async () => body((body.length > 0 ? await make() : undefined) as World))
  }
  const each =
    <Row>(rows: readonly Row[]) =>
    (title: string, body: (row: Row, world: World) => Done) =>
      test.for(rows)(title, async (row) => body(row, (body.length > 1 ? await make() : undefined) as World))
  const own = ((rows: readonly unknown[]) => test.each(rows)) as typeof test.each
  return Object.assign(plain, { for: each, each: own })
}
