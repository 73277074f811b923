/** The service about itself: whether it lives, whether it is ready, its numbers, its words. */

import { within } from 'redrive/internal'
import { type Exchange, ok, type Reply } from '../exchange.ts'
import { INSPECTOR_PATH } from '../inspector.ts'

export async function health({ context }: Exchange): Promise<Reply> {
  return ok({ status: 'ok', version: context.version })
}

/** A store that takes longer is as good as none. */
const STORE_MS = 1_000

export async function ready({ context }: Exchange): Promise<Reply> {
  const { store, clock, state } = context
  const asked = Promise.all([store.counts(), store.room?.()])
  const [answers, room] = await within(clock, STORE_MS, 'the store', asked).then(
    ([, room]) => [true, room] as const,
    () => [false, undefined] as const,
  )
  const reason = room?.unsafe
  const checks = {
    store: answers && reason === undefined && state.isStoreWell(),
    runner: state.isReady(),
    draining: state.isLeaving(),
  }
  return {
    status: checks.store && checks.runner && !checks.draining ? 200 : 503,
    json: { checks, ...(reason !== undefined && { reason }) },
  }
}

export async function metrics({ context }: Exchange): Promise<Reply> {
  const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
  return { status: 200, body: await context.metrics(), headers }
}

export async function openapi({ openapiBytes }: Exchange): Promise<Reply> {
  return { status: 200, body: openapiBytes(), headers: { 'content-type': 'application/json' } }
}

export async function root({ context }: Exchange): Promise<Reply> {
  const links = {
    openapi: '/openapi.json',
    health: '/healthz',
    ready: '/readyz',
    tasks: '/retry-tasks',
    stats: '/stats',
    ...(context.inspector && { ui: INSPECTOR_PATH }),
  }
  return ok({ name: 'redrive', version: context.version, links })
}
