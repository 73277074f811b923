/** For what happens in another process: each look is a request to it. */

import { expect } from 'vitest'
import type { EdgeObject } from './edge.ts'

export const soon = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 45_000, interval: 40 })

export async function reaches(object: EdgeObject, taskId: string, status: string): Promise<void> {
  await soon(async () => (await object.get(taskId))?.status).toBe(status)
}
