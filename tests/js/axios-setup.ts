/** An axios instance on a queue, in front of a real server. */

import axios, { type AxiosError, type AxiosInstance, type CreateAxiosDefaults } from 'axios'
import { expect, onTestFinished } from 'vitest'
import { attachToAxios } from '../../js/adapters/axios.ts'
import { type GiveCredentials, RetryQueue, type RetryQueueOptions } from '../../js/index.ts'
import type { TaskOptions } from '../../js/options/task-options.ts'
import type { FakeClock } from '../../js/testing.ts'
import { AxiosServer } from './axios-server.ts'
import { closeNow, NO_GATES } from './setup.ts'

export type AdapterName = 'http' | 'fetch'

/** xhr is run in a browser. */
export const ADAPTERS: readonly AdapterName[] = ['http', 'fetch']

/** Three attempts, a millisecond apart. */
export const QUICK = { strategy: 'fixed', initialDelayMs: 1, jitterType: 'NONE', maxAttempts: 3 } as const

export interface Setup {
  readonly server: AxiosServer
  readonly queue: RetryQueue
  readonly api: AxiosInstance
  readonly detach: () => void
}

type Said = number | 'resets' | Parameters<AxiosServer['reply']>

/** `give`: of the option `credentials`, the entry of the server's origin. `answers`: what the server says, one after another. */
export async function setup(
  adapter: AdapterName,
  options: RetryQueueOptions & { readonly give?: GiveCredentials; readonly answers?: readonly Said[] } = {},
  config: CreateAxiosDefaults = {},
  defaults?: TaskOptions,
): Promise<Setup> {
  const { give, answers = [], ...rest } = options
  const server = await startServer()
  for (const said of answers) {
    if (said === 'resets') server.reset()
    else if (typeof said === 'number') server.reply(said)
    else server.reply(...said)
  }
  const queue = await openQueue({ ...rest, ...(give ? { credentials: { [server.url]: give } } : {}) })
  const api = axios.create({ adapter, baseURL: server.url, ...config })
  return { server, queue, api, detach: attachToAxios(api, queue, defaults) }
}

export async function startServer(): Promise<AxiosServer> {
  const server = await AxiosServer.start()
  onTestFinished(() => server.close())
  return server
}

export async function openQueue(options: RetryQueueOptions = {}): Promise<RetryQueue> {
  const queue = new RetryQueue({ ...NO_GATES, ...options, policy: { ...QUICK, ...options.policy } })
  const { clock } = options
  onTestFinished(() => (clock ? closeNow(queue, clock as FakeClock) : queue.close({ drainMs: 0 })))
  await queue.ready
  return queue
}

/** What a call rejects with. */
export async function failure(call: Promise<unknown>): Promise<AxiosError> {
  return call.then(
    (value) => Promise.reject(new Error(`expected a rejection, got ${JSON.stringify(value)}`)),
    (error: AxiosError) => error,
  )
}

export const keysOf = (server: AxiosServer): (string | undefined)[] =>
  server.requests.map((request) => request.headers['idempotency-key'])

/** On a machine that is busy with other tests too. */
export const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 20_000 })
