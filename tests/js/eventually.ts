import { expect } from 'vitest'

/** For what a real server or disk has to do first, on a machine that is busy with other tests too. */
export const eventually = <T>(read: () => T, timeout = 20_000): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout, interval: 5 })
