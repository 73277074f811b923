/** `test` for tests that begin alike: a body that asks for it is given what `make` makes. */

import { test } from 'vitest'

type Done = void | Promise<void>

export function testIn<T>(make: () => T) {
  type World = Awaited<T>
  const plain = (title: string, body: (world: World) => Done, timeout?: number) =>
    test(title, async () => body((body.length > 0 ? await make() : undefined) as World), timeout)
  const each =
    <Row>(rows: readonly Row[]) =>
    (title: string, body: (row: Row, world: World) => Done, timeout?: number) =>
      test.for(rows)(title, async (row) => body(row, (body.length > 1 ? await make() : undefined) as World), timeout)
  return Object.assign(plain, { for: each, each: test.each })
}
