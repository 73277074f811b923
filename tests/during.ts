import { afterAll, beforeAll } from 'vitest'

type Ended = { close(): unknown } | AsyncDisposable

const end = (started: Ended): unknown => ('close' in started ? started.close() : started[Symbol.asyncDispose]())

/** Started before the tests of a file or block, ended after them; until it has started it answers nothing. */
export function duringTests<T extends Ended>(start: () => Promise<T>): T {
  let started: T | undefined
  const running = (): T => {
    if (!started) throw new Error('it is used before the tests have begun')
    return started
  }
  beforeAll(async () => {
    started = await start()
  })
  afterAll(async () => {
    if (started) await end(started)
  })
  return new Proxy({} as T, {
    // the object itself has private fields
    get(_, name) {
      const value: unknown = Reflect.get(running(), name, running())
      return typeof value === 'function' ? value.bind(running()) : value
    },
    set: (_, name, value) => Reflect.set(running(), name, value, running()),
    has: (_, name) => name in running(),
  })
}
