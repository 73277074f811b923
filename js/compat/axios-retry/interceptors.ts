/** The two interceptors of axios-retry: one puts each request into the queue, the other asks its options what follows an error. */

import type { AxiosAdapter, AxiosError, AxiosInstance, AxiosResponse, InternalAxiosRequestConfig } from 'axios'
import { bareSibling } from '../../adapters/by-axios/bare-sibling.ts'
import { optionsOf } from '../../adapters/by-axios/read-config.ts'
import { errorsOf } from '../../adapters/by-axios/stream-replay.ts'
import { isRedirectRefused, sendOnce } from '../../adapters/by-axios/transport.ts'
import { httpUrl } from '../../adapters/by-axios/where.ts'
import { BodyNotReplayableError, RedriveError } from '../../api/errors.ts'
import { internalsOf } from '../../queue/internals.ts'
import type { RetryQueue } from '../../queue/queue.ts'
import { type IAxiosRetryConfig, type IAxiosRetryReturn, namespace, putState, type State } from './options.ts'
import { Relay, type RelayPorts, type RelayRequest } from './relay.ts'
import { taskOptions } from './task-options.ts'
import { waitBeforeRetry } from './wait.ts'

type Config = InternalAxiosRequestConfig
type Send = (config: Config) => Promise<AxiosResponse>

/** Adapters that stand here for another, which they put back. */
const ours = new WeakSet<object>()
/** Requests in the queue, by what their configs hold: a config may be copied on its way. */
const relays = new WeakMap<object, Relay>()

const stateIn = (config: Config): State => config[namespace] as State

/** An adapter that sends in place of another. Its caller gets the config back, and may send it again: with the other. */
function inPlaceOf(original: Config['adapter'], send: Send): AxiosAdapter {
  const adapter: AxiosAdapter = async (ready) => {
    if (original === undefined) delete ready.adapter
    else ready.adapter = original
    return send(ready)
  }
  ours.add(adapter)
  return adapter
}

/** `isPrivate`: the queue was made for this instance, and has no say in time limits. */
export function intercept(
  instance: AxiosInstance,
  defaults: IAxiosRetryConfig,
  queue: RetryQueue,
  isPrivate: boolean,
): IAxiosRetryReturn {
  const bare = bareSibling(instance)
  const internals = internalsOf(queue, 'axiosRetry(axios, { queue })')
  const { clock } = internals.host.settings
  const ports: RelayPorts = {
    ...internals,
    bare,
    again: (config, relay) => {
      const adapter = inPlaceOf(config.adapter, async (ready) => {
        const request = requestOf(ready)
        const reached = request && relay.reach(request)
        if (!reached) return begin(ready)
        relays.set(stateIn(ready), relay)
        return reached
      })
      return instance.request({ ...config, adapter } as Config)
    },
  }

  /** undefined: none that the queue can make. */
  const requestOf = (config: Config, waitedMs?: number): RelayRequest | undefined => {
    const url = config.redrive === false ? null : httpUrl(config, bare)
    if (!url) return undefined
    const given = optionsOf(config, internals.host, {})
    return { config, url, options: taskOptions(given, config, stateIn(config), { isPrivate, waitedMs }) }
  }

  /** `failed`: how its first attempt ended, `waitedMs` before the next. undefined: it can be sent once only. */
  const read = async (config: Config, failed?: unknown, waitedMs?: number): Promise<Relay | undefined> => {
    const request = requestOf(config, waitedMs)
    try {
      return request && (await Relay.read(ports, request, failed))
    } catch (error) {
      if (error instanceof BodyNotReplayableError) return undefined
      throw error
    }
  }

  const begin: Send = async (ready) => {
    const relay = await read(ready)
    if (!relay) return sendOnce(bare, ready)
    relays.set(stateIn(ready), relay)
    try {
      return await relay.run()
    } catch (error) {
      if (relay.wasSent || !(error instanceof RedriveError)) throw error
      // refused by the queue, as while a circuit is open: still an error of axios to its caller
      throw (await errorsOf(bare)).from(error, error.code, ready)
    }
  }

  const onRequest = (config: Config): Config => {
    const { validateResponse } = putState(config, defaults, clock.now(), true)
    if (validateResponse) config.validateStatus = () => false
    if (!(config.adapter && ours.has(config.adapter as object))) config.adapter = inPlaceOf(config.adapter, begin)
    return config
  }

  const onRejected = async (error: AxiosError): Promise<AxiosResponse> => {
    const { config } = error
    if (!config) throw error
    const relay = relays.get(stateIn(config) ?? config)
    const state = putState(config, defaults, clock.now(), false)
    // no other attempt would be led elsewhere
    if (relay && (!relay.wasSent || isRedirectRefused(error))) throw error
    const { response } = error
    let delayMs: number | undefined
    try {
      if (response && state.validateResponse?.(response)) {
        await relay?.giveUp(false)
        return response
      }
      delayMs = await waitBeforeRetry(config, state, error, clock)
    } catch (thrown) {
      await relay?.giveUp(false)
      throw thrown
    }
    if (delayMs === undefined) {
      const isSpent = state.retryCount >= state.retries
      await relay?.giveUp(isSpent)
      if (isSpent) await state.onMaxRetryTimesExceeded(error, state.retryCount)
      throw error
    }
    return retry(relay, config, error, delayMs)
  }

  const retry = async (relay: Relay | undefined, config: Config, error: AxiosError, delayMs: number) => {
    const isAborted = () => config.signal?.aborted || config.cancelToken?.reason
    // axios says itself that it was aborted
    const stopped = () => (isAborted() ? instance.request(config) : Promise.reject(error))
    if (isAborted()) return stopped()
    const taken = relay?.isAsking ? relay : await read(config, error, delayMs)
    return taken ? taken.retry(config, delayMs, stopped) : stopped()
  }

  return {
    requestInterceptorId: instance.interceptors.request.use(onRequest),
    responseInterceptorId: instance.interceptors.response.use(null, onRejected),
  }
}
