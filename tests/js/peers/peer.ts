/** A queue as a peer's user would set it up, for cases of its own tests: our waits are plain, and no gate has a say. */

import { expect } from 'vitest'
import type { RedriveInit } from '../../../js/call/read-fetch.ts'
import type { RetryQueueOptions } from '../../../js/index.ts'
import { gaps, ORDERS, setup, watch } from '../setup.ts'

export interface Case {
  readonly policy?: NonNullable<RetryQueueOptions['policy']>
  readonly options?: RetryQueueOptions
  readonly init?: RedriveInit
  /** Answers of the server, in turn: a status, one with headers, or an error. Then it says 200. */
  readonly server: readonly (number | readonly [status: number, headers: Record<string, string>] | Error)[]
}

export interface Ended {
  readonly hits: number
  readonly status: number | undefined
  readonly error: unknown
  /** The waits between the attempts, in milliseconds. */
  readonly waits: readonly number[]
}

/** Makes one call and lets ten minutes pass. */
export async function ended({ policy = {}, options = {}, init = {}, server: says }: Case): Promise<Ended> {
  const { queue, server, clock } = await setup({ ...options, policy })
  for (const one of says) {
    if (one instanceof Error) server.fail(one)
    else if (typeof one === 'number') server.reply(one)
    else server.reply(...one)
  }
  const call = watch(queue.fetch(ORDERS, { ...init, redrive: { waitMs: 600_000, ...(init.redrive || {}) } }))
  await clock.advance(600_000)
  expect(call.state).not.toBe('pending')
  return { hits: server.hits, status: call.value?.status, error: call.error, waits: gaps(server) }
}

export const POST = { method: 'POST', body: 'order' } as const
