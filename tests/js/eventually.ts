import { expect } from 'vitest'

/** For what a real server or disk has to do first, on a machine that is busy with other tests too. */
export const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 20_000, interval: 5 })
