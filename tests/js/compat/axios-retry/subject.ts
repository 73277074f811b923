/** The two that every case runs against: axios-retry, which proves the case right, and our interface of it. */

import axios, { type AxiosError, type AxiosInstance, type CreateAxiosDefaults } from 'axios'
import * as real from 'axios-retry'
import * as facade from '../../../../js/compat-axios-retry.ts'
import type { AxiosServer } from '../../axios-server.ts'
import { failure, startServer } from '../../axios-setup.ts'

/** What both export. That ours is one, too, the compiler says. */
export type Subject = typeof real
export type Options = NonNullable<Parameters<Subject['default']>[1]>

export const SUBJECTS: Readonly<Record<'axios-retry' | 'redrive/compat/axios-retry', Subject>> = {
  'axios-retry': real,
  'redrive/compat/axios-retry': facade,
}

export interface Setup {
  readonly server: AxiosServer
  readonly api: AxiosInstance
}

/** A case restates what axios-retry does, and rejects where that is not so. */
export type Case = (subject: Subject) => Promise<void>
export type Cases = Readonly<Record<string, Case>>

/** An instance in front of a real server. */
export async function plain(config: CreateAxiosDefaults = {}): Promise<Setup> {
  const server = await startServer()
  return { server, api: axios.create({ adapter: 'http', baseURL: server.url, ...config }) }
}

/** Likewise, with the subject on it. */
export async function attach(
  { default: axiosRetry }: Subject,
  options?: Options,
  config?: CreateAxiosDefaults,
): Promise<Setup> {
  const made = await plain(config)
  axiosRetry(made.api, options)
  return made
}

/** Likewise, of a server that resets this many connections, and then answers well. */
export async function afterResets(resets: number, subject: Subject, options?: Options): Promise<Setup> {
  const made = await attach(subject, options)
  for (let i = 0; i < resets; i++) made.server.reset()
  return made
}

/** The error of a call, with what its config says of retries. */
export async function failed(
  call: Promise<unknown>,
): Promise<AxiosError & { readonly retryCount: number | undefined }> {
  const error = await failure(call)
  return Object.assign(error, { retryCount: error.config?.['axios-retry']?.retryCount })
}

export const always = (): boolean => true
