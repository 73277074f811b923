/** From a call of a scenario to the arguments of a queue's method. */

import type { TaskOptions } from '../../js/options/task-options.ts'
import type { Called } from './callers.ts'
import { canary } from './canaries.ts'
import { BARE, type CallSpec, type Scenario } from './scenario.ts'

interface Asked {
  readonly url: string
  readonly init: RequestInit
  readonly redrive: TaskOptions
  readonly called: Called
}

/** `isHandedOver`: its caller does not wait for the answer, so it is stored whatever its method. */
export function requestOf(
  spec: CallSpec,
  principal: string,
  { strips = false }: Pick<Scenario, 'strips'>,
  isHandedOver: boolean,
): Asked {
  const { intent, origin, method, key, orderKey, priority, policyId, secret, sensitive, says, refreshes } = spec
  const isOrdered = orderKey !== undefined
  const isUnstorable = sensitive === true || secret === 'unknown' || (secret === 'url' && !strips)
  const redrive: TaskOptions = {
    policyId,
    ...(key === undefined ? {} : { idempotencyKey: key }),
    ...(isOrdered ? { orderKey } : {}),
    ...(priority === undefined ? {} : { priority }),
    ...(sensitive ? { sensitive } : {}),
    ...(refreshes ? { credentials: 'on-401' } : {}),
  }
  // a key is a principal's own: another's request under it is another request
  const own = { intent: `${intent}/${principal}`, principal }
  const isUnstored = !isOrdered && (isUnstorable || (method === 'GET' && !isHandedOver))
  const isRefused = isOrdered && isUnstorable
  const called = {
    intent: own.intent,
    method,
    origin,
    isUnstored,
    isOrdered,
    isRefused,
    refreshes: refreshes === true,
    says,
    isHandedOver,
  }
  const query = new URLSearchParams({
    ...(method === 'GET' || says ? own : {}),
    ...(says ? { says } : {}),
    ...(secret === 'url' ? { access_token: canary(origin, intent) } : {}),
  })
  const url = `${origin}/orders${query.size > 0 ? `?${query}` : ''}`
  const headers = headersOf(spec)
  if (method === 'GET') return { url, init: { method, headers }, redrive, called }
  return { url, init: { method, headers, body: JSON.stringify(own) }, redrive, called }
}

function headersOf({ origin, intent, secret }: CallSpec): Record<string, string> {
  if (secret === 'denied' && origin !== BARE) {
    return { authorization: `Bearer ${canary(origin, intent)}`, 'x-acme-secret': canary(origin, `${intent}x`) }
  }
  return secret === 'unknown' ? { 'x-acme': canary(origin, intent) } : {}
}
